import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { findFreePort } from '@station/kit/free-port';
import { deviceTopic } from '@station/protocol/topics';
import { makeLogins } from '@station/simulators/devices/devices-file';
import { needPackages } from '../../rig/debian.ts';
import { run, tryRun, waitFor } from '../../rig/program.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';
import { install, stationId, type Installation } from '../backend/installation.ts';
import { startNumberedDevice } from '../backend/numbered-device.ts';
import { createStackBroker } from './stack-broker.ts';
import { createStationLife, type StationLife } from './station-life.ts';

/** Of the station, on loopback in the network of this part. */
const address = '192.168.77.7';
const patientMs = 180_000;

type Broker = {
  /** Port with TLS, and the plain one. */
  tlsPort: number;
  plainPort: number;
  /** Variables of the backend. */
  env: Record<string, string>;
  /** Whether devices keep their connections while the certificate is renewed. */
  staysUp: boolean;
  /** Reads its certificate again, as the agent asks for it. */
  restart(): Promise<void>;
  /** Before the backend. */
  start(): Promise<void>;
  /** Closes the plain port. */
  closePlain(station: Installation): Promise<void>;
};

async function embedded(_workspace: Workspace, certificates: string): Promise<Broker> {
  const tlsPort = await findFreePort();
  const plainPort = await findFreePort();
  return {
    tlsPort,
    plainPort,
    env: {
      MQTT_HOST: '0.0.0.0',
      MQTT_PORT: String(plainPort),
      MQTT_TLS_PORT: String(tlsPort),
      MQTT_TLS_FILE: join(certificates, 'station.pem'),
    },
    staysUp: true,
    restart: async () => undefined,
    start: async () => undefined,
    closePlain: async (station) => {
      station.env['MQTT_PLAIN'] = 'false';
      await station.stopBackend('SIGTERM');
      await station.startBackend();
    },
  };
}

async function mosquitto(workspace: Workspace, certificates: string): Promise<Broker> {
  const broker = await createStackBroker(workspace, certificates);
  const restart = async (env?: Record<string, string>): Promise<void> => {
    await broker.stop();
    await broker.start(env);
  };
  return {
    tlsPort: broker.tlsPort,
    plainPort: broker.port,
    env: {
      MQTT_URL: `mqtt://127.0.0.1:${broker.innerPort}`,
      MQTT_USERNAME: 'backend',
      MQTT_PASSWORD: broker.password,
    },
    staysUp: false,
    restart: () => restart(),
    start: () => broker.start(),
    closePlain: () => restart({ MQTT_PLAIN: 'false' }),
  };
}

for (const [kind, open] of [
  ['the broker inside the backend', embedded],
  ['Mosquitto, as the stack starts it', mosquitto],
] as const) {
  describe(`MQTT over TLS: ${kind}`, { timeout: 900_000 }, () => {
    const all = new AsyncDisposableStack();
    const logins = makeLogins(4);
    const lamp = logins.find(({ type }) => type === 'light') ?? assert.fail();
    let workspace: Workspace;
    let broker: Broker;
    let station: Installation;
    let life: StationLife;
    let authority = '';
    let isOn = false;

    before(async () => {
      await needPackages(['mosquitto-clients', 'openssl', 'iproute2']);
      workspace = all.use(await createWorkspace());
      await run('ip', ['address', 'add', `${address}/32`, 'dev', 'lo']);
      all.defer(() => run('ip', ['address', 'del', `${address}/32`, 'dev', 'lo']).then(() => undefined));
      const around = { now: Date.now(), isClockRight: true, addresses: [address], mdnsName: null };
      life = createStationLife(await workspace.subfolder('agent'), around, async (server) => {
        if (server === 'mqtt' && isOn) await broker.restart();
      });
      broker = await open(workspace, join(life.folder, 'tls/mqtt'));
      await look();
      authority = join(workspace.folder, 'ca.crt');
      await writeFile(authority, await life.authority());
      await broker.start();
      station = all.use(await install('the embedded broker and SQLite', { logins, env: broker.env }));
      await station.startBackend();
      isOn = true;
      // The virtual devices trust what the phones of the household trust.
      setDefaultCACertificates([...getCACertificates(), await life.authority()]);
    });
    after(() => all.disposeAsync());

    const look = (): Promise<void> => life.run({ started: async () => undefined, looked: async () => false });

    /** The clients that ship with Mosquitto. Options come from a file: a password must not be in the arguments of a process. */
    async function client(
      program: string,
      options: readonly string[],
      { host = address, ca = authority, token = lamp.token } = {},
    ) {
      const folder = await workspace.subfolder(`client-${program}`);
      const lines = [
        `-h ${host}`,
        `-p ${broker.tlsPort}`,
        `-u ${lamp.externalId}`,
        `-P ${token}`,
        `-i ${lamp.externalId}`,
      ];
      await writeFile(join(folder, program), `${[...lines, `--cafile ${ca}`].join('\n')}\n`, { mode: 0o600 });
      return tryRun(program, options, { env: { XDG_CONFIG_HOME: folder } });
    }
    const say = (n: number, how?: { host?: string; ca?: string; token?: string }) => {
      const event = JSON.stringify({ event: 'device_event', data: { action: 'rang', n } });
      return client(
        'mosquitto_pub',
        ['-q', '1', '-t', deviceTopic(stationId, lamp.externalId, 'event'), '-m', event],
        how,
      );
    };
    const stored = async (externalId: string): Promise<Set<number>> => {
      const rows = await station.query<{ data: string }>(
        `select data from device_events join devices on devices.id = device_id where external_id = '${externalId}'`,
      );
      return new Set(rows.map(({ data }) => (JSON.parse(data) as { n: number }).n));
    };
    /** Serial number of the certificate that a new client is shown. @throws when it is not trusted. */
    async function shown(): Promise<string> {
      const socket = connect({ host: address, port: broker.tlsPort, ca: await life.authority() });
      try {
        await once(socket, 'secureConnect');
        return socket.getPeerCertificate().serialNumber;
      } finally {
        socket.destroy();
      }
    }

    it('mosquitto_pub with the certificate of the authority is heard', async () => {
      const login = async (): Promise<boolean> => (await say(1)).exitCode === 0;
      await waitFor('the login of the lamp', login, patientMs);
      await waitFor('the event', async () => (await stored(lamp.externalId)).has(1));
    });

    it('who does not trust the authority, asks under another name or has another token says nothing', async () => {
      const foreign = join(workspace.folder, 'foreign.crt');
      const key = [
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-keyout',
        join(workspace.folder, 'key'),
      ];
      await run('openssl', ['req', '-x509', ...key, '-subj', '/CN=Somebody', '-days', '2', '-out', foreign]);
      for (const how of [{ ca: foreign }, { host: '127.0.0.1' }, { token: 'another token' }]) {
        assert.notEqual((await say(2, how)).exitCode, 0, JSON.stringify(how));
      }
      assert.deepEqual([...(await stored(lamp.externalId))], [1]);
    });

    it('mosquitto_sub with it receives a command', async () => {
      const topic = deviceTopic(stationId, lamp.externalId, 'command');
      const heard = client('mosquitto_sub', ['-q', '1', '-t', topic, '-C', '1', '-W', '120']);
      const token = await station.logIn();
      const [row] = await station.query<{ id: string }>(
        `select id from devices where external_id = '${lamp.externalId}'`,
      );
      let isOver = false;
      void heard.finally(() => (isOver = true));
      await waitFor(
        'the command to arrive',
        async () => {
          const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
          const body = JSON.stringify({ action: 'turn_on' });
          await fetch(`${station.url}/api/devices/${row?.id}/command`, { method: 'POST', headers, body });
          return isOver;
        },
        patientMs,
      );
      const { exitCode, stdout } = await heard;
      assert.equal(exitCode, 0);
      assert.match(stdout, /"turn_on"/);
    });

    it('a renewal is picked up, and no device is lost, nor anything that the broker has acknowledged', async () => {
      const url = `mqtts://${address}:${broker.tlsPort}`;
      const others = logins.filter((login) => login !== lamp);
      const devices = others.map((login) => all.use(startNumberedDevice(url, stationId, login)));
      await waitFor('all devices', () => devices.every(({ client: { connected } }) => connected), patientMs);
      let closed = 0;
      for (const device of devices) device.client.on('close', () => (closed += 1));
      /** Each sends twenty more at every look. */
      const speak = (): void => devices.forEach((device) => device.allow(20));
      const haveSent = (more: number, since: readonly number[]) => (): boolean => {
        speak();
        return devices.every(({ acknowledged }, at) => acknowledged.size > since[at]! + more);
      };
      const sent = (): number[] => devices.map(({ acknowledged }) => acknowledged.size);
      await waitFor('the first of each', haveSent(0, sent()), patientMs);
      const before = await shown();
      life.around.addresses = [address, '10.0.0.23'];
      await look();
      const isNew = async (): Promise<boolean> => {
        speak();
        return (await shown()) !== before;
      };
      await waitFor('the new certificate', isNew, patientMs);
      await waitFor('every device to go on', haveSent(50, sent()), patientMs);
      assert.equal(closed > 0, !broker.staysUp, `${closed} connections were closed`);
      closed = 0;
      await Promise.all(devices.map((device) => device.finish()));
      for (const { externalId, acknowledged } of devices) {
        const isStored = async (): Promise<boolean> => acknowledged.isSubsetOf(await stored(externalId));
        await waitFor(`all events of ${externalId}`, isStored, patientMs);
      }
      for (const device of devices) await device[Symbol.asyncDispose]();
    });

    it('MQTT_PLAIN=false closes the plain port, and that with TLS stays', async () => {
      const isOpen = async (): Promise<boolean> => {
        const socket = connectPlain(broker.plainPort, '127.0.0.1');
        const opened = await once(socket, 'connect').then(
          () => true,
          () => false,
        );
        socket.destroy();
        return opened;
      };
      assert.equal(await isOpen(), true);
      await broker.closePlain(station);
      assert.equal(await isOpen(), false);
      await waitFor('the lamp to be heard', async () => (await say(3)).exitCode === 0, patientMs);
      await waitFor('the event', async () => (await stored(lamp.externalId)).has(3), patientMs);
      assert.deepEqual(await station.logged('not a log line'), []);
    });
  });
}
