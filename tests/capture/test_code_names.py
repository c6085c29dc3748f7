"""Names in code: attributes with what stands before their dot, and globals."""

import argparse
import collections
import warnings

import gnomon as gn
from gnomon.capture.code_names import walked_among, words_of


class Options(collections.UserDict):
    """A user's class with one of Python's behind it."""


def test_attributes_are_known_with_the_name_before_their_dot():
    def read(self, x):
        y = self.options
        return [self.options.scale, y.shift, OUTER.limit, x[0].size, (lambda: y.late)()]

    words = words_of(read.__code__)

    assert words.names == {"OUTER"}
    assert words.pairs == {
        ("self", "options"),
        ("options", "scale"),
        (None, "shift"),
        ("OUTER", "limit"),
        (None, "size"),
        (None, "late"),
    }


def test_names_that_getattr_is_given_count_too():
    assert (None, "dropout") in words_of((lambda x: getattr(x, "dropout", 0)).__code__).pairs


def test_a_name_that_is_made_up_is_any():
    name = "x"

    assert not words_of((lambda x: getattr(x.y(1), "a", 0)).__code__).every
    assert words_of((lambda x: getattr(x, name)).__code__).every
    assert words_of((lambda x: getattr(x.y(1), f"layer{name}", 0)).__code__).every
    assert words_of((lambda x: setattr(x, "a" + name, 1)).__code__).every
    assert words_of((lambda x: vars(x)["a"]).__code__).every


def test_what_is_not_called_at_once_is_given_to_somebody():
    assert words_of((lambda x: map(print, x)).__code__).given == {"print"}
    assert words_of((lambda x: print(x.shape)).__code__).given == {"shape"}
    assert "warn" not in words_of((lambda x: warnings.warn(x, stacklevel=2)).__code__).given
    assert "warn" in words_of((lambda x: map(warnings.warn, x)).__code__).given


def test_classes_that_are_written_in_python_are_walked():
    assert Options in walked_among(Options)
    assert collections.UserDict in walked_among(Options)
    assert argparse.Namespace in walked_among(argparse.Namespace)
    assert not any(map(walked_among, (dict, collections.deque, type, gn.optim.SGD, object)))


OUTER = Options()
