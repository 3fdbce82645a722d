#!/bin/sh
# The service ends with the package, and not when it is upgraded: dpkg gives "remove"
# for that, rpm the number of versions that are left.
case "$1" in
remove | 0)
	if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
		systemctl disable --now heldcall.socket heldcall.service || :
	fi
	;;
esac
