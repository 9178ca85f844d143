#!/bin/sh
chmod 444 seed.txt
