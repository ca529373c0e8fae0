#!/bin/sh
touch PWN
