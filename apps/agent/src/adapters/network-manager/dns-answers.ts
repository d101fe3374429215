import { join } from 'node:path';
import { makeDirectoryDurable, nodeDisk, readText, removeDurable, writeDurable } from '@station/kit/durable-files';

/** Read by the dnsmasq of NetworkManager's shared mode; the folder must stand when it starts. */
export const sharedDnsmasqFolder = '/etc/NetworkManager/dnsmasq-shared.d';

/**
 * What the hotspot's dnsmasq (2.90, dnsmasq(8)) is told: every name is the station, so that each probe of a phone lands on the
 * setup page. Any other question (AAAA, HTTPS) is answered at once with "no such record" by `local`: unanswered or refused ones
 * would let phones wait and ask elsewhere. Nothing is asked of servers that an earlier network left behind. `no-ping` gives
 * addresses out at once. No DHCP option 114: RFC 8908 wants https with a certificate that phones trust.
 */
export const dnsAnswers = (address: string, interfaceName: string): string =>
  [`${interfaceMark}${interfaceName}`, `address=/#/${address}`, 'local=/#/', 'no-resolv', 'no-ping', ''].join('\n');

const interfaceMark = '# Written by the station agent while its hotspot is up on ';

export type DnsAnswers = {
  write(address: string, interfaceName: string): Promise<void>;
  /** Interface of the hotspot it was written for; null: it is not there. */
  interfaceName(): Promise<string | null>;
  remove(): Promise<void>;
};

/** The file also says, over a crash, that a hotspot was begun and must be undone, and where. */
export function createDnsAnswers(folder: string): DnsAnswers {
  const file = join(folder, 'station-portal.conf');
  return {
    write: async (address, interfaceName) => {
      await makeDirectoryDurable(nodeDisk, folder, 0o755);
      await writeDurable(nodeDisk, file, dnsAnswers(address, interfaceName), 0o644);
    },
    interfaceName: async () => {
      const content = await readText(nodeDisk, file);
      return content === null ? null : (content.split('\n')[0] ?? '').replace(interfaceMark, '');
    },
    remove: () => removeDurable(nodeDisk, file),
  };
}
