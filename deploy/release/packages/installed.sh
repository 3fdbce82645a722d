#!/bin/sh
# systemd reads the unit. A service that runs keeps its version until it is restarted,
# because a restart ends held calls. DPKG_ROOT is set where the system is another one.
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload || :
fi
