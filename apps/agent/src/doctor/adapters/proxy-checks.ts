import { once } from 'node:events';
import { checkServerIdentity, connect } from 'node:tls';
import { runCommand } from '@station/kit/command';
import type { PublicCertificateFacts, ServedCertificate } from '../doctor-ports.ts';
import { faultOf } from '../../core/adapters/http-request.ts';

type Project = {
  program: string;
  folder: string;
  /** The compose service of the proxy. */
  service: string;
  env: Readonly<Record<string, string>>;
  abort: AbortSignal;
};

/** The port of HTTPS inside the container (deploy/proxy/Caddyfile). */
const innerPort = '8443';
const mostLogLines = '300';

/** The certificate that the proxy shows to those who ask for `name`, and the last lines of its log. */
export async function readPublicCertificate(project: Project, name: string): Promise<PublicCertificateFacts> {
  const { service } = project;
  const published = await compose(project, ['port', service, innerPort]);
  const [, host = '', port = ''] = /^(.+):(\d+)$/m.exec(published) ?? [];
  const served: ServedCertificate =
    port === ''
      ? { kind: 'none', reason: 'the proxy does not run' }
      : await readServed({ host: reachable(host), port: Number(port), name, abort: project.abort });
  // Some releases of Compose put control characters before each line.
  const log = await compose(project, ['logs', '--no-log-prefix', '--no-color', '--tail', mostLogLines, service]);
  return { served, log: log.match(/\{.*\}/g) ?? [] };
}

/** What `docker compose` prints; nothing when it fails. */
async function compose({ program, folder, env, abort }: Project, args: readonly string[]): Promise<string> {
  const options = { cwd: folder, env: { ...env }, abort, keptBytes: 256 * 1024 };
  const { exitCode, stdout } = await runCommand(program, ['compose', ...args], options);
  return exitCode === 0 ? stdout : '';
}

/** An address that stands for all of the machine is no address to connect to. */
const reachable = (host: string): string => (/^(0\.0\.0\.0|\[::\])$/.test(host) ? '127.0.0.1' : host);

type Place = { host: string; port: number; name: string; abort: AbortSignal };

async function readServed({ host, port, name, abort }: Place): Promise<ServedCertificate> {
  // Who vouches for it is not asked: an authority of one's own is as good here.
  const socket = connect({ host, port, servername: name, rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect', { signal: abort });
    const certificate = socket.getPeerCertificate();
    if (checkServerIdentity(name, certificate)) return { kind: 'none', reason: 'the proxy shows another one' };
    const [validFrom, validUntil] = [certificate.valid_from, certificate.valid_to].map((text) =>
      new Date(text).toISOString(),
    ) as [string, string];
    return { kind: 'served', issuer: textOf(certificate.issuer.O ?? certificate.issuer.CN), validFrom, validUntil };
  } catch (error) {
    abort.throwIfAborted();
    return { kind: 'none', reason: faultOf(error) };
  } finally {
    socket.destroy();
  }
}

const textOf = (value: string | string[] | undefined): string => [value ?? []].flat().join(', ');
