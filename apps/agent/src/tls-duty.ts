import type { Clock } from '@station/kit/clock';
import { nodeDisk, type Owner } from '@station/kit/durable-files';
import type { AgentLogger } from '@station/kit/logger';
import { certificateMaker } from './tls/adapters/certificates.ts';
import { readHostAddresses } from './tls/adapters/host-addresses.ts';
import type { MdnsName } from './core/adapters/mdns-name.ts';
import type { Config } from './config.ts';
import { restartService, type ServiceRestartParts } from './stack/service-restart.ts';
import { createStationCertificates, type Server, type StationCertificates } from './tls/station-certificates.ts';

type Parts = Omit<ServiceRestartParts, 'proxy'> & {
  mdnsName: Pick<MdnsName, 'read'>;
  clock: Clock;
  logger: AgentLogger;
};

/** Users of the containers, as in deploy/docker-compose.yml. */
const containerUsers: Record<Server, Owner> = {
  https: { uid: 10_001, gid: 10_001 },
  mqtt: { uid: 1883, gid: 1883 },
};
const brokerService = 'mqtt';

/** Builds the part of the agent that keeps the certificates of the station (docs/adr/0045). */
export function createTlsDuty(
  { encryption, dataDir, stationId, wifi, stack }: Config,
  { mdnsName, clock, logger, ...parts }: Parts,
): StationCertificates {
  const services: Record<Server, string> = { https: stack.reverseProxyService, mqtt: brokerService };
  return createStationCertificates({
    ...encryption,
    dataDir,
    clock,
    logger,
    disk: nodeDisk,
    maker: certificateMaker,
    addresses: readHostAddresses,
    authorityName: `Station-${stationId.slice(-4)}`,
    host: wifi.stationUrl.hostname,
    mdnsName: mdnsName.read,
    owners: process.getuid?.() === 0 ? containerUsers : null,
    restart: (server, signal) =>
      restartService({ ...parts, proxy: stack.reverseProxyService }, services[server], signal),
  });
}
