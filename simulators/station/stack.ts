import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { nodeDisk, writeDurable } from '@station/kit/durable-files';
import { programVariables } from '../releases/station-images.ts';
import type { Folders } from './folders.ts';
import type { Identity } from './identity.ts';

/** Writes the stack's compose file for the process engine: the services and their environment. */
export async function writeStack(options: {
  root: string;
  folders: Folders;
  identity: Identity;
  backendPort: number;
  frontendPort: number;
  mqttPort: number;
  /** Logins of the virtual devices, for the backend. */
  devicesFile: string;
  agentSocket: string;
  radioSocket: string;
  /** Variables of the backend. */
  cloud: Readonly<Record<string, string>>;
  /** URL of the reverse proxy for devices. */
  publicUrl: string;
}): Promise<void> {
  const { root, folders, identity, backendPort, frontendPort, mqttPort, devicesFile, agentSocket, publicUrl } = options;
  const program = (path: string): string => pathToFileURL(join(root, path)).href;
  const services = {
    backend: {
      environment: {
        HOST: '127.0.0.1',
        PORT: String(backendPort),
        MQTT_PORT: String(mqttPort),
        DEVICES_FILE: devicesFile,
        DATA_DIR: folders.backend,
        PUBLIC_URL: publicUrl,
        // Short, so that the second device can be seen to follow the first one.
        FIRMWARE_SOAK_SECONDS: '10',
        STATION_ID: identity.stationId,
        AGENT_SOCKET: agentSocket,
        AGENT_TOKEN: identity.agentToken,
        BLE_HELPER: join(root, 'simulators/radio/helper.ts'),
        BLE_RADIO_SOCKET: options.radioSocket,
        ...options.cloud,
        [programVariables.backend]: program('apps/backend/src/main.ts'),
      },
    },
    frontend: {
      environment: {
        HOST: '127.0.0.1',
        PORT: String(frontendPort),
        WEB_DIR: join(root, 'dist/web'),
        [programVariables.frontend]: program('simulators/frontend/main.ts'),
      },
    },
  };
  // JSON is valid YAML. Readable only by this user, because it contains the token.
  await writeDurable(nodeDisk, join(folders.stack, 'docker-compose.yml'), `${JSON.stringify({ services }, null, 2)}\n`);
}
