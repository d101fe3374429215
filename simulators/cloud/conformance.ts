import { setTimeout as sleep } from 'node:timers/promises';
import { RpcRefusal, type CloudConnection, type ReferenceCloud } from './reference-cloud.ts';

/** A check acts through the cloud link and sees the effects at home through `home`. */
export type CheckContext = {
  cloud: ReferenceCloud;
  home: Home;
};

/** Access to the station in the local network. */
export type Home = {
  stationName(): Promise<string>;
  /** In order of email address. */
  members(): Promise<{ email: string; name: string; role: string }[]>;
  canLogIn(email: string, password: string): Promise<boolean>;
  /** External id of the device to check; default: any online device. */
  device?: string;
  /** Commands that the device has received, oldest first; null without a device. */
  deviceCommands(): Promise<{ action: string }[]> | null;
  /** Makes the device send an event. */
  publishEvent?: (data: Record<string, unknown>) => Promise<void>;
};

export type Check = {
  name: string;
  /** Without a device in `home`, the check is only partial. */
  usesDevice?: true;
  run(context: CheckContext): Promise<void>;
};

const timeoutMs = 60_000;
/** argon2id of "from the cloud 1" and "from the cloud 2", so that checks need no hash function. */
export type KnownPasswords = { password: string; hash: string }[];

/** One check for each row of the specification's two cloud tables, with its name. The last one leaves the station unclaimed. */
export function conformanceChecks(passwords: KnownPasswords): Check[] {
  const [first, second] = passwords as [KnownPasswords[number], KnownPasswords[number]];
  const owner = { cloudUserId: 'cloud-owner', email: 'cloud-owner@example.org', name: 'Oksana', role: 'owner' };
  const member = { cloudUserId: 'cloud-member', email: 'cloud-member@example.org', name: 'Marko', role: 'member' };
  const sync = {
    type: 'identity_sync',
    station: { name: 'Synced' },
    ownerId: owner.cloudUserId,
    members: [owner, member],
  };
  const memberNamed = async (home: Home, email: string) => (await home.members()).find((one) => one.email === email);

  return [
    {
      name: 'device.command',
      usesDevice: true,
      run: async ({ cloud, home }) => {
        const link = await cloud.connection();
        const device = await findOnlineDevice(link, home);
        const before = (await home.deviceCommands())?.length ?? 0;
        const params = { deviceId: device.id, command: { action: 'reboot' } };
        expectEqual(await link.call('device.command', params, 'conformance-command-1'), { status: 'ok' });
        // A repeated call has no second effect, and says so.
        const again = await link.call('device.command', params, 'conformance-command-1');
        expectEqual(again, { status: 'ok', repeated: true });
        const after = home.deviceCommands();
        if (after !== null) {
          await until(
            'the device receives the command',
            async () => ((await home.deviceCommands()) ?? []).length > before,
          );
          expectEqual((await home.deviceCommands())?.length, before + 1);
        }
        await expectRefusal(link.call('device.command', { ...params, deviceId: 'nobody' }), -32004);
        await expectRefusal(link.call('device.command', { deviceId: device.id }), -32602);
        await expectRefusal(link.call('device.command', { ...params, command: { action: 'sing' } }), -32602);
      },
    },
    {
      name: 'devices.snapshot',
      run: async ({ cloud }) => {
        const { devices } = (await (await cloud.connection()).call('devices.snapshot')) as { devices: unknown[] };
        expect(Array.isArray(devices), 'devices is a list');
        for (const device of devices as Record<string, unknown>[]) {
          for (const key of ['id', 'externalId', 'type', 'name', 'status', 'state']) {
            expect(Object.hasOwn(device, key), `each device has ${key}`);
          }
          expect(!Object.keys(device).some((key) => /token/i.test(key)), 'no device has its token');
        }
      },
    },
    {
      name: 'device_types.list',
      run: async ({ cloud }) => {
        const answer = await (await cloud.connection()).call('device_types.list');
        const { deviceTypes } = answer as { deviceTypes: { type: string }[] };
        expect(deviceTypes.length > 0 && deviceTypes.every(({ type }) => typeof type === 'string'), 'types have names');
      },
    },
    {
      name: 'scenes.list',
      run: async ({ cloud }) => {
        const { scenes } = (await (await cloud.connection()).call('scenes.list')) as { scenes: unknown[] };
        expect(Array.isArray(scenes), 'scenes is a list');
      },
    },
    {
      name: 'scene.run',
      run: async ({ cloud }) => {
        const link = await cloud.connection();
        await expectRefusal(link.call('scene.run', { sceneId: 'nothing' }), -32006);
        await expectRefusal(link.call('scene.run', {}), -32602);
      },
    },
    {
      name: 'station.setActiveChannels',
      usesDevice: true,
      run: async ({ cloud, home }) => {
        const link = await cloud.connection();
        const all = ['state', 'status', 'events', 'commands', 'lifecycle', 'automations', 'firmware', 'system'];
        const without = all.filter((channel) => channel !== 'events');
        expectEqual(await link.call('station.setActiveChannels', { channels: without }), { ok: true });
        const events = () => cloud.received.filter(({ method }) => method === 'device.event').length;
        const before = events();
        await home.publishEvent?.({ action: 'motion_detected', n: 'inactive' });
        await sleep(300);
        expectEqual(events(), before);
        await expectRefusal(link.call('station.setActiveChannels', { channels: ['gossip'] }), -32602);
        expectEqual(await link.call('station.setActiveChannels', { channels: all }), { ok: true });
        if (home.publishEvent === undefined) return;
        await home.publishEvent({ action: 'motion_detected', n: 'active' });
        await until('the event is sent', () => events() > before);
      },
    },
    {
      name: 'identity_sync',
      run: async ({ cloud, home }) => {
        const link = await cloud.connection();
        link.send(sync);
        await until('the station is renamed', async () => (await home.stationName()) === 'Synced');
        expectEqual((await memberNamed(home, owner.email))?.role, 'owner');
        expectEqual((await memberNamed(home, member.email))?.role, 'member');
        // A list without an owner is refused completely.
        link.send({ ...sync, station: { name: 'Nobody' }, ownerId: 'nobody' });
        link.send({ ...sync, members: [owner] });
        await until('a member who is not on the list is removed', async () => !(await memberNamed(home, member.email)));
        expectEqual(await home.stationName(), 'Synced');
      },
    },
    {
      name: 'station_renamed',
      run: async ({ cloud, home }) => {
        (await cloud.connection()).send({ type: 'station_renamed', name: 'By the sea' });
        await until('the station is renamed', async () => (await home.stationName()) === 'By the sea');
      },
    },
    {
      name: 'member_added',
      run: async ({ cloud, home }) => {
        const added = { ...member, stationPasswordHash: first.hash };
        (await cloud.connection()).send({ type: 'member_added', member: added });
        await until('the member is added', async () => (await memberNamed(home, member.email)) !== undefined);
        expect(await home.canLogIn(member.email, first.password), 'the password of the cloud is valid at home');
      },
    },
    {
      name: 'member_updated',
      run: async ({ cloud, home }) => {
        const updated = { ...member, name: 'Marko B.', role: 'admin' };
        (await cloud.connection()).send({ type: 'member_updated', member: updated });
        await until('the member is changed', async () => (await memberNamed(home, member.email))?.role === 'admin');
        expectEqual((await memberNamed(home, member.email))?.name, 'Marko B.');
        expect(await home.canLogIn(member.email, first.password), 'the password is unchanged');
      },
    },
    {
      name: 'station_password_changed',
      run: async ({ cloud, home }) => {
        const { cloudUserId } = member;
        (await cloud.connection()).send({
          type: 'station_password_changed',
          cloudUserId,
          stationPasswordHash: second.hash,
        });
        // In this order, because repeated attempts with a wrong password lock the account.
        const isOldValid = () => home.canLogIn(member.email, first.password);
        await until('the old password is no longer valid', async () => !(await isOldValid()));
        expect(await home.canLogIn(member.email, second.password), 'the new password is valid');
      },
    },
    {
      name: 'member_removed',
      run: async ({ cloud, home }) => {
        (await cloud.connection()).send({ type: 'member_removed', cloudUserId: member.cloudUserId });
        await until('the member is removed', async () => !(await memberNamed(home, member.email)));
        expect(!(await home.canLogIn(member.email, second.password)), 'a removed member cannot log in');
      },
    },
    {
      name: 'station_reset',
      usesDevice: true,
      run: async ({ cloud, home }) => {
        const before = (await home.deviceCommands())?.length ?? 0;
        (await cloud.connection()).send({ type: 'station_reset' });
        const acknowledged = () => cloud.frames.some(({ text }) => text.includes('"station_reset_ack"'));
        await until('the reset is acknowledged', acknowledged);
        if (home.deviceCommands() !== null) {
          const actions = async () => ((await home.deviceCommands()) ?? []).slice(before).map(({ action }) => action);
          await until('the devices get the command', async () => (await actions()).includes('factory_reset'));
        }
        await until('the station connects again, unclaimed', () => cloud.waiting().length > 0);
      },
    },
  ];
}

type ListedDevice = { id: string; externalId: string; status: string };

/** @throws when there is no such device. */
export async function findOnlineDevice(link: CloudConnection, home: Pick<Home, 'device'>): Promise<{ id: string }> {
  const { devices } = (await link.call('devices.snapshot')) as { devices: ListedDevice[] };
  const isWanted = ({ externalId }: ListedDevice): boolean => home.device === undefined || home.device === externalId;
  const device = devices.find((one) => one.status === 'online' && isWanted(one));
  if (device === undefined) throw new Error('The check needs an online device.');
  return device;
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`This is not true: ${what}.`);
}

function expectEqual(given: unknown, wanted: unknown): void {
  const a = JSON.stringify(given);
  const b = JSON.stringify(wanted);
  if (a !== b) throw new Error(`Got ${a} instead of ${b}.`);
}

async function expectRefusal(call: Promise<unknown>, code: number): Promise<void> {
  const answer = await call.then(
    (value) => value,
    (error: unknown) => error,
  );
  if (!(answer instanceof RpcRefusal) || answer.code !== code) {
    throw new Error(`Got ${String(answer)} instead of the error ${code}.`);
  }
}

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`This did not happen in time: ${what}.`);
    await sleep(20);
  }
}
