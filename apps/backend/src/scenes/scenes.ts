import { randomUUIDv7 } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import { RequestInvalidError } from '@station/kit/validation';
import { commonActions } from '@station/protocol/common-commands';
import {
  type AddedScene,
  maxScenes,
  type NewScene,
  type Scene,
  type SceneCommand,
  type SceneRun,
} from '@station/protocol/scenes';
import { checkCommand, type CommandResult, type Commands } from '../core/commands.ts';
import type { Sight } from '../core/sight.ts';
import type { DeviceTypes } from '../core/type-registry.ts';
import type { DeviceStore } from '../store/device-store.ts';
import { createSceneStore, toScene } from '../store/scene-store.ts';
import type { Database } from '../store/schema.ts';

export type Scenes = {
  /** By name; only those of which the caller sees every device. */
  list(sight: Sight): Promise<Scene[]>;
  /** @throws {StationError} `conflict`; RequestInvalidError: a device does not have its command. */
  add(scene: AddedScene): Promise<Scene>;
  /** @throws {StationError} `not_found`; RequestInvalidError as `add`. */
  change(id: string, scene: NewScene): Promise<Scene>;
  /** @throws {StationError} `not_found` */
  remove(id: string): Promise<void>;
  /** Sends commands that are not a scene yet. @throws RequestInvalidError as `add`. */
  try(commands: readonly SceneCommand[], userId: string | null): Promise<SceneRun>;
  /** Sends all commands. @throws {StationError} `not_found`, also when the caller does not see one of its devices. */
  run(id: string, sight: Sight, userId: string | null): Promise<SceneRun>;
};

export type ScenesParts = {
  db: Database;
  devices: Pick<DeviceStore, 'findById' | 'seen'>;
  types: DeviceTypes;
  commands: Pick<Commands, 'send'>;
  /** A scene was added, changed or removed. */
  onChanged: () => Promise<void>;
  clock: Clock;
};

export function createScenes(parts: ScenesParts): Scenes {
  const { db, onChanged, clock } = parts;
  const { list, find } = createSceneStore(db);
  return {
    list: async (sight) => seenOnly(parts, sight, await list()),
    add: async (scene) => {
      await checkCommands(parts, scene.commands);
      const row = { id: scene.id ?? randomUUIDv7(), ...toColumns(scene, clock), created_at: clock.now() };
      await db.transaction().execute(async (transaction) => {
        // This statement serialises concurrent requests, so that two of them cannot both find room.
        await transaction
          .updateTable('station')
          .set(({ ref }) => ({ name: ref('name') }))
          .execute();
        const { count } = await transaction
          .selectFrom('scenes')
          .select(({ fn }) => fn.countAll<number | string>().as('count'))
          .executeTakeFirstOrThrow();
        if (Number(count) >= maxScenes) throw new StationError('conflict', `There are ${maxScenes} scenes already.`);
        const { numInsertedOrUpdatedRows } = await transaction
          .insertInto('scenes')
          .values(row)
          .onConflict((conflict) => conflict.column('id').doNothing())
          .executeTakeFirstOrThrow();
        if (numInsertedOrUpdatedRows === 0n) throw new StationError('conflict', 'There is a scene of this id already.');
      });
      await onChanged();
      return toScene(row);
    },
    change: async (id, scene) => {
      await checkCommands(parts, scene.commands);
      const changed = await db
        .updateTable('scenes')
        .set(toColumns(scene, clock))
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst();
      if (changed === undefined) throw noSuchScene();
      await onChanged();
      return toScene(changed);
    },
    remove: async (id) => {
      const { numDeletedRows } = await db.deleteFrom('scenes').where('id', '=', id).executeTakeFirst();
      if (numDeletedRows === 0n) throw noSuchScene();
      await onChanged();
    },
    try: async (commands, userId) => {
      await checkCommands(parts, commands);
      return sendAll(parts, commands, { userId, sceneId: null });
    },
    run: async (id, sight, userId) => {
      const found = await find(id);
      const [scene] = await seenOnly(parts, sight, found === null ? [] : [found]);
      if (scene === undefined) throw noSuchScene();
      return sendAll(parts, scene.commands, { userId, sceneId: id });
    },
  };
}

/** A scene names its devices, and a part of it would be another scene. */
async function seenOnly({ devices }: ScenesParts, sight: Sight, scenes: readonly Scene[]): Promise<Scene[]> {
  if (sight.zones === null) return [...scenes];
  const seen = await devices.seen(sight);
  return scenes.filter(({ commands }) => commands.every(({ deviceId }) => seen.has(deviceId)));
}

async function sendAll(
  { devices, commands }: ScenesParts,
  wanted: readonly SceneCommand[],
  { userId, sceneId }: { userId: string | null; sceneId: string | null },
): Promise<SceneRun> {
  const run: SceneRun = { sent: [], failed: [] };
  // One after the other: the commands of one device keep their order.
  for (const { deviceId, action, params = {} } of wanted) {
    const device = await devices.findById(deviceId);
    const reason =
      device === null
        ? 'removed'
        : device.status === 'offline'
          ? 'offline'
          : reasonOf(await commands.send({ deviceId, action, params, userId, cause: { kind: 'scene', id: sceneId } }));
    if (reason === null) run.sent.push(deviceId);
    else run.failed.push({ deviceId, reason });
  }
  return run;
}

/** Null: it was sent. */
function reasonOf(result: CommandResult): SceneRun['failed'][number]['reason'] | null {
  switch (result.kind) {
    case 'accepted':
      return result.command.status === 'failed' ? 'not_taken' : null;
    case 'unknown_device':
      return 'removed';
    case 'unknown_action':
    case 'bad_params':
    case 'too_large':
      return 'not_understood';
  }
}

/** @throws RequestInvalidError with the pointer of each command that cannot be sent. */
async function checkCommands({ devices, types }: ScenesParts, commands: readonly SceneCommand[]): Promise<void> {
  const faults: { in: 'body'; pointer: string; message: string }[] = [];
  const note = (pointer: string, message: string): void => void faults.push({ in: 'body', pointer, message });
  for (const [index, { deviceId, action, params = {} }] of commands.entries()) {
    const pointer = `/commands/${index}`;
    const device = await devices.findById(deviceId);
    if (device === null) {
      note(`${pointer}/deviceId`, 'is not the id of a device');
      continue;
    }
    if (commonActions.includes(action)) {
      note(`${pointer}/action`, 'is not allowed in a scene');
      continue;
    }
    const checked = checkCommand(types.of(device), action, params);
    if (checked.kind === 'unknown_action') note(`${pointer}/action`, `must be one of: ${checked.known.join(', ')}`);
    if (checked.kind === 'bad_params')
      for (const fault of checked.faults) note(`${pointer}/params${fault.pointer}`, fault.message);
  }
  if (faults.length > 0) throw new RequestInvalidError(faults);
}

const toColumns = ({ name, commands }: NewScene, clock: Clock) => ({
  name: name.trim(),
  commands: JSON.stringify(commands),
  updated_at: clock.now(),
});

const noSuchScene = (): StationError => new StationError('not_found', 'There is no such scene.');
