#!/bin/sh
echo 'the tests are broken' >&2
exit 3
