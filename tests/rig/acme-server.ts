import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findFreePort } from '@station/kit/free-port';
import { needPackages } from './debian.ts';
import { run, startDaemon, waitFor, type Daemon } from './program.ts';
import type { Workspace } from './workspace.ts';

/** Let's Encrypt's own server for tests (Pebble), with the DNS that it asks. */
export type AcmeServer = AsyncDisposable & {
  /** Its directory (RFC 8555, 7.1.1). */
  directory: string;
  /** File of certificates by which its HTTPS is trusted. */
  caFile: string;
  /** Ends what runs and starts anew: a new authority that knows no account. @param validSeconds of its certificates. */
  start(validSeconds: number): Promise<void>;
  stop(): Promise<void>;
};

type Place = {
  /** Address of this machine that the station reaches. */
  address: string;
  /** Where it looks for the station, on loopback, whatever the name. */
  httpPort: number;
  httpsPort: number;
};

/** Does not run before `start`. */
export async function createAcmeServer(workspace: Workspace, place: Place): Promise<AcmeServer> {
  await needPackages(['pebble']);
  const folder = await workspace.subfolder('acme-server');
  const port = await findFreePort();
  const managementPort = await findFreePort();
  const dnsPort = await findFreePort();
  const caFile = join(folder, 'server.pem');
  await writeCertificate(folder, place.address);
  let running: Daemon[] = [];
  const stop = async (): Promise<void> => {
    for (const daemon of running) await daemon.stop();
    running = [];
  };
  const server: AcmeServer = {
    directory: `https://${place.address}:${port}/dir`,
    caFile,
    stop,
    start: async (validSeconds) => {
      await stop();
      const config = {
        listenAddress: `${place.address}:${port}`,
        managementListenAddress: `127.0.0.1:${managementPort}`,
        certificate: caFile,
        privateKey: join(folder, 'key.pem'),
        httpPort: place.httpPort,
        tlsPort: place.httpsPort,
        ocspResponderURL: '',
        externalAccountBindingRequired: false,
        certificateValidityPeriod: validSeconds,
      };
      await writeFile(join(folder, 'pebble.json'), JSON.stringify({ pebble: config }));
      const dns = `127.0.0.1:${dnsPort}`;
      const none = ['-http01', '', '-https01', '', '-tlsalpn01', '', '-defaultIPv6', ''];
      const management = ['-management', `127.0.0.1:${await findFreePort()}`];
      running = [
        await startDaemon('pebble-challtestsrv', ['-dns01', dns, ...none, ...management], {
          logFile: join(folder, 'dns.log'),
        }),
        await startDaemon('pebble', ['-config', join(folder, 'pebble.json'), '-dnsserver', dns], {
          logFile: join(folder, 'pebble.log'),
          // It would wait up to 15 s before each look.
          env: { PEBBLE_VA_NOSLEEP: '1' },
        }),
      ];
      await waitFor('Pebble to answer', async () => (await fetch(`http://${place.address}:${port}`)).status > 0);
    },
    [Symbol.asyncDispose]: stop,
  };
  workspace.own(server);
  return server;
}

/** Self-signed: it is its own root. */
async function writeCertificate(folder: string, address: string): Promise<void> {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', join(folder, 'key.pem')];
  const names = ['-subj', '/CN=ACME', '-addext', `subjectAltName=IP:${address}`, '-days', '30'];
  await run('openssl', ['req', '-x509', ...key, ...names, '-out', join(folder, 'server.pem')]);
}
