import { parseAs } from '@station/kit/json';
import { StationError } from '@station/kit/station-error';
import { BrokerLogins } from '@station/protocol/agent-backup';
import type { BrokerFile } from '../../../core/backup-ports.ts';
import { archiveOf, firstFile } from './archive.ts';
import { listContainers, setRunning } from './containers.ts';
import { type EngineApi, messageOf } from './engine-api.ts';

/** Service, folder and file as in `deploy/docker-compose.yml` and `deploy/mosquitto/mosquitto.conf`. */
const service = 'mqtt';
const folder = '/mosquitto/data';
const name = 'dynamic-security.json';
/** A login takes less than 1 KiB. */
const maxBytes = 3 * 1024 * 1024;

/** The logins of devices at the Mosquitto of the stack, through the Engine API; the container may be stopped. */
export function createBrokerFile(api: EngineApi, project: () => Promise<string>): BrokerFile {
  const find = async () => {
    const containers = await listContainers(api, await project());
    return containers.find((container) => container.service === service) ?? null;
  };
  const readArchive = (id: string) =>
    api.bytes('GET', `/containers/${id}/archive`, { query: { path: `${folder}/${name}` }, maxBytes: maxBytes + 4096 });

  return {
    read: async () => {
      const container = await find();
      if (container === null) return { kind: 'absent' };
      const { status, bytes } = await readArchive(container.id);
      if (status === 404) return { kind: 'absent' };
      if (bytes === null) return { kind: 'too_large' };
      const logins = status === 200 ? parse((await firstFile(bytes))?.content) : null;
      return logins === null ? { kind: 'not_valid' } : { kind: 'ok', logins };
    },
    replace: async (logins) => {
      const container = await find();
      const present = container && (await readArchive(container.id));
      const file = present?.bytes ? await firstFile(present.bytes) : null;
      if (container === null || file === null)
        throw new StationError('unavailable', 'the broker has no file of logins');
      const { uid, gid } = file;
      const archive = archiveOf({ name, mode: 0o600, uid, gid, content: Buffer.from(JSON.stringify(logins)) });
      const projectName = await project();
      // A running broker would write its own logins over the file with the next change.
      await setRunning(api, projectName, service, false);
      try {
        const path = `/containers/${container.id}/archive`;
        const { status, body } = await api.call('PUT', path, { query: { path: folder }, archive });
        if (status !== 200)
          throw new StationError('unavailable', 'the logins of the broker could not be replaced', {
            cause: new Error(messageOf(body)),
          });
      } finally {
        await setRunning(api, projectName, service, true);
      }
    },
  };
}

const parse = (content: Uint8Array | undefined): BrokerLogins | null =>
  parseAs(BrokerLogins, Buffer.from(content ?? []).toString('utf8'));
