"""Names in code: attributes with what stands before their dot, and globals."""

import argparse
import collections

import gnomon as gn
from gnomon.tensor.words import has_attributes, users_among, words_of


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


def test_containers_and_pythons_own_classes_have_no_attributes_of_a_users():
    assert has_attributes(Options)
    assert has_attributes(argparse.Namespace)
    assert has_attributes(gn.optim.SGD)
    assert not any(map(has_attributes, (dict, collections.Counter, type, collections.UserDict)))
    assert users_among(Options) == (Options,)


OUTER = Options()
