import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Files that are laid over the guest's; `init` is the first program of its initramfs. */
export const guestFolder = join(import.meta.dirname, 'guest');

/** What the machine that builds and runs the guest needs. */
export const hostPackages = [
  'qemu-system-x86',
  'mmdebstrap',
  'cpio',
  'kmod',
  'busybox-static',
  'e2fsprogs',
  'util-linux',
] as const;

/** What the guest consists of, besides what Debian calls essential. */
export const guestPackages = [
  'systemd-sysv',
  'systemd-timesyncd',
  'udev',
  'dbus',
  'kmod',
  'procps',
  'ca-certificates',
  'iproute2',
  'iputils-ping',
  'iptables',
  'nftables',
  'network-manager',
  'wpasupplicant',
  'dnsmasq-base',
  'iw',
  'rfkill',
  'wireless-regdb',
  // The router's side and the phone's.
  'hostapd',
  'busybox-static',
  'curl',
  // Bluetooth: the daemon, and btvirt, which simulates controllers.
  'bluez',
  'bluez-test-tools',
  // Node.js is linked with these.
  'libstdc++6',
  'libatomic1',
] as const;

/** Units that cost time at every boot and serve nothing here, or would take radios that are not theirs. */
export const maskedUnits = [
  'apt-daily.timer',
  'apt-daily-upgrade.timer',
  'dpkg-db-backup.timer',
  'fstrim.timer',
  'e2scrub_all.timer',
  'e2scrub_reap.service',
  'systemd-pstore.service',
  'systemd-update-utmp.service',
  'systemd-binfmt.service',
  'systemd-timesyncd.service',
  'NetworkManager-wait-online.service',
  'ModemManager.service',
  'getty@tty1.service',
  'hostapd.service',
  'dnsmasq.service',
  'dev-hugepages.mount',
  'dev-mqueue.mount',
  'sys-kernel-debug.mount',
  'sys-kernel-tracing.mount',
] as const;

/** Parts of the kernel package's module tree that the guest gets, and what they depend on. */
export const moduleTrees = [
  'net',
  'crypto',
  'lib',
  'arch/x86/crypto',
  'fs/ext4',
  'fs/jbd2',
  'fs/fuse',
  'fs/overlayfs',
  'fs/nls',
  'drivers/virtio',
  'drivers/block',
  'drivers/char/hw_random',
  'drivers/char/virtio_console.ko',
  'drivers/net/virtio_net.ko',
  'drivers/net/net_failover.ko',
  'drivers/net/veth.ko',
  'drivers/net/tun.ko',
  'drivers/net/dummy.ko',
  'drivers/net/wireless/mac80211_hwsim.ko',
  'drivers/bluetooth',
  'fs/mbcache.ko',
] as const;

/** What the initramfs needs to reach the root disk. */
export const bootModules = ['virtio_pci', 'virtio_blk', 'ext4', 'crc32c_generic'] as const;

/** A name for everything that decides how the image looks: recipe, guest files, and what the machine's sources offer. */
export function recipeHash(facts: { suite: string; kernelPackage: string }): string {
  const hash = createHash('sha256').update(JSON.stringify(facts));
  for (const file of ['recipe.ts', 'image.ts']) hash.update(file).update(readFileSync(join(import.meta.dirname, file)));
  const names = readdirSync(guestFolder, { recursive: true, encoding: 'utf8' }).sort();
  for (const name of names) {
    const path = join(guestFolder, name);
    if (statSync(path).isFile()) hash.update(name).update(readFileSync(path));
  }
  return hash.digest('hex').slice(0, 16);
}
