import type { TopicRights } from '../core/foreign-devices-port.ts';
import type { State } from '../core/device-state.ts';
import type { DeviceType } from '@station/protocol/device-types';
import type { Call } from './entities-decide.ts';

/** A device of the station as consumers are told of it. */
export type SharedDevice = {
  id: string;
  name: string;
  typeName: string;
  type: DeviceType | undefined;
  zone: string | null;
  isOnline: boolean;
  state: State;
  firmwareVersion: string | null;
  /** The system that it came from; null: it is the station's own. */
  dialect: string | null;
};

export type House = {
  stationId: string;
  stationName: string;
  /** Of the station's software. */
  version: string;
  /** By age: an older device keeps its name when a newer one has the same. */
  devices: readonly SharedDevice[];
};

export type Message = { topic: string; payload: string };

/** What the broker keeps. `parts`: what was told of it, by its platform; a part that is gone is taken back. */
export type Kept = Message & { parts?: Readonly<Record<string, string>> };

/** What a consumer asks for. */
export type Ask =
  | ({ kind: 'command'; deviceId: string } & Call)
  /** Everything, once more. */
  | { kind: 'everything' }
  | { kind: 'state'; deviceId: string }
  | ({ kind: 'answer' } & Message);

/** A house in the words of a dialect. */
export type Picture = {
  /** What changes with a device, not with its state. `before`: parts of a topic that were told once. */
  fixed(before: (topic: string) => Readonly<Record<string, string>>): Kept[];
  state(deviceId: string, state: State): Message | null;
  status(deviceId: string, isOnline: boolean): Message | null;
  /** Not kept. */
  event(deviceId: string, action: string, state: State): Message | null;
  /** What a message of the consumer asks for; null: it is none that is understood. */
  read(topic: string, payload: string): Ask[] | null;
  devices: number;
  /** They came from it, or there is no room for them. */
  leftOut: number;
};

/** How a system is spoken to; pure. `base`: its discovery prefix, or base topic. */
export type ConsumerDialect = {
  rights(base: string, stationId: string): TopicRights;
  /** What the broker keeps while the station is there, and when it is not. */
  presence(base: string, stationId: string): { topic: string; online: string; offline: string };
  draw(house: House, base: string): Picture;
};
