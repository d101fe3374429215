import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { createRateLimitedCounter } from '@station/kit/rate-limited-counter';
import { nextTurn } from '@station/kit/timers';
import { deviceTopic } from '@station/protocol/topics';
import type { DeviceMessage, ForeignDevices, ForeignReading } from '../core/foreign-devices-port.ts';
import type { BrokerLinkHandler, IncomingMessage } from './broker-link.ts';

type Receive = BrokerLinkHandler['onMessage'];

/** A message of a foreign device in the station's own form. */
export const ownForm = (stationId: string, { externalId, end, body }: DeviceMessage): IncomingMessage => ({
  topic: deviceTopic(stationId, externalId, end),
  payload: Buffer.from(JSON.stringify(body)),
});

type ForeignInlet = {
  receive: Receive;
  /** Reads something in its turn among the messages of gateways. */
  hear(read: () => ForeignReading): void;
};

/**
 * Messages of gateways become messages of their devices; any other one goes on as it is. What comes after an announcement waits until it is on
 * disk, so that it is read by it. A message that cannot be read is lost alone: the broker may keep it, and would bring it after each start.
 */
export function createForeignInlet({
  stationId,
  foreign,
  receive,
  clock,
  logger,
}: {
  stationId: string;
  foreign: Pick<ForeignDevices, 'read'>;
  receive: Receive;
  clock: Pick<Clock, 'monotonic'>;
  logger: Pick<BackendLogger, 'failed'>;
}): ForeignInlet {
  const faults = createRateLimitedCounter<'read', unknown>({
    clock,
    report: ({ detail }) => logger.failed('reading what a gateway said', detail),
  });
  const onFault = (error: unknown): void => faults.count('read', error);
  const attempt = (read: () => ForeignReading): ForeignReading => {
    try {
      return read();
    } catch (error) {
      onFault(error);
      return { messages: [], stored: null };
    }
  };
  const waiting: (() => void)[] = [];
  let isStoring = false;
  const giveOne = async (message: DeviceMessage, mayWait: boolean): Promise<void> => {
    try {
      await receive({ ...ownForm(stationId, message), mayWait });
    } catch (error) {
      onFault(error);
    }
  };
  const give = async (messages: readonly DeviceMessage[], mayWait: boolean): Promise<void> => {
    await Promise.all(messages.map((message) => giveOne(message, mayWait)));
  };
  const goOn = (): void => {
    isStoring = false;
    while (!isStoring) {
      const next = waiting.shift();
      if (next === undefined) return;
      next();
    }
  };
  /** A turn lies behind each announcement, and each piece of a long one: others need not wait for all of them. */
  const giveAll = async (first: ForeignReading, mayWait: boolean): Promise<Promise<void>[]> => {
    const given: Promise<void>[] = [];
    let reading = first;
    for (;;) {
      await reading.stored;
      given.push(give(reading.messages, mayWait));
      await nextTurn();
      if (reading.next === undefined) return given;
      reading = attempt(reading.next);
    }
  };
  const take = (read: () => ForeignReading, mayWait: boolean, resolve: (done: Promise<void>) => void): void => {
    const reading = attempt(read);
    if (reading.stored === null && reading.next === undefined) return resolve(give(reading.messages, mayWait));
    isStoring = true;
    void giveAll(reading, mayWait).then((given) => {
      resolve(Promise.all(given).then(() => undefined));
      goOn();
    });
  };
  const inTurn = (read: () => ForeignReading, mayWait: boolean): Promise<void> =>
    new Promise((resolve) => {
      if (isStoring) waiting.push(() => take(read, mayWait, resolve));
      else take(read, mayWait, resolve);
    });
  return {
    receive: (message) => {
      const { topic, payload, isRetained = false, mayWait = false } = message;
      if (topic.startsWith('station/')) return receive(message);
      return inTurn(() => foreign.read({ topic, payload, isRetained }), mayWait);
    },
    hear: (read) => void inTurn(read, false),
  };
}
