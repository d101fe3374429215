import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const suites = ['bookworm', 'trixie'] as const;

/** Debian of the machine, 12 or 13 (STATION_TEST_SUITE). */
export const suite = suites.find((name) => name === process.env['STATION_TEST_SUITE']) ?? 'bookworm';

/** What the host needs to build and run the machine. */
export const hostPackages = [
  'systemd-container',
  'mmdebstrap',
  'e2fsprogs',
  'btrfs-progs',
  'iproute2',
  'util-linux',
  'apt-utils',
  'dpkg-dev',
  'gnupg',
  'xz-utils',
  'tmux',
] as const;

/** A Debian server as its installer leaves it: no Docker, no curl, no NetworkManager (the network is ifupdown's). */
export const basePackages = [
  'systemd-sysv',
  'dbus',
  'udev',
  'kmod',
  'procps',
  'iproute2',
  'ifupdown',
  'iputils-ping',
  'nftables',
  'ca-certificates',
  'apt-utils',
  'tzdata',
  'cron',
  'logrotate',
  'less',
  'e2fsprogs',
  'libnss-systemd',
] as const;

/** What the mirror offers, each with all that it depends on or recommends: all that an installation may ask for. */
export const offeredPackages = [
  'curl',
  'ca-certificates',
  'xz-utils',
  'minisign',
  'qrencode',
  'openssl',
  'gnupg',
  'iw',
  'rfkill',
  'libatomic1',
  'libstdc++6',
  'network-manager',
  'wpasupplicant',
  'wireless-regdb',
  'dnsmasq-base',
  'bluez',
  'xdg-dbus-proxy',
  'avahi-daemon',
  'libnss-mdns',
  'iptables',
  'docker.io',
  'uidmap',
  'pigz',
  'git',
  'apparmor',
  'busybox-static',
  // Debian 13 has Compose v2 and the client in packages of their own.
  ...(suite === 'trixie' ? ['docker-cli', 'docker-compose', 'docker-buildx'] : []),
];

/** Units that only cost time in a machine that lives for minutes. */
export const maskedUnits = [
  'apt-daily.timer',
  'apt-daily-upgrade.timer',
  'dpkg-db-backup.timer',
  'fstrim.timer',
  'e2scrub_all.timer',
  'e2scrub_reap.service',
  'systemd-timesyncd.service',
  'getty@tty1.service',
  'console-getty.service',
] as const;

/** A name for everything that decides what the image and the mirror contain. */
export function recipeHash(): string {
  const hash = createHash('sha256').update(suite);
  for (const file of ['recipe.ts', 'image.ts', 'mirror.ts'])
    hash.update(file).update(readFileSync(join(import.meta.dirname, file)));
  return hash.digest('hex').slice(0, 16);
}
