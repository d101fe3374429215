import { deviceTopic } from '@station/protocol/topics';
import type { DeviceMessage, ForeignDevices } from '../core/foreign-devices-port.ts';
import type { BrokerLinkHandler, IncomingMessage } from './broker-link.ts';

type Receive = BrokerLinkHandler['onMessage'];

/** A message of a foreign device in the station's own form. */
export const ownForm = (stationId: string, { externalId, end, body }: DeviceMessage): IncomingMessage => ({
  topic: deviceTopic(stationId, externalId, end),
  payload: Buffer.from(JSON.stringify(body)),
});

/**
 * Messages of gateways become messages of their devices; any other one goes on as it is. What comes after an announcement waits until it is on
 * disk, so that it is read by it.
 */
export function createForeignInlet({
  stationId,
  foreign,
  receive,
}: {
  stationId: string;
  foreign: Pick<ForeignDevices, 'read'>;
  receive: Receive;
}): Receive {
  const waiting: (() => void)[] = [];
  let isStoring = false;
  const give = async (messages: readonly DeviceMessage[], mayWait: boolean): Promise<void> => {
    await Promise.all(messages.map((message) => receive({ ...ownForm(stationId, message), mayWait })));
  };
  const goOn = (): void => {
    isStoring = false;
    while (!isStoring) {
      const next = waiting.shift();
      if (next === undefined) return;
      next();
    }
  };
  const take = (
    { topic, payload, isRetained = false, mayWait = false }: IncomingMessage,
    resolve: (done: Promise<void>) => void,
  ): void => {
    const { messages, stored } = foreign.read({ topic, payload, isRetained });
    if (stored === null) return resolve(give(messages, mayWait));
    isStoring = true;
    void stored.then(() => {
      resolve(give(messages, mayWait));
      goOn();
    });
  };
  return (message) => {
    if (message.topic.startsWith('station/')) return receive(message);
    return new Promise((resolve) => {
      if (isStoring) waiting.push(() => take(message, resolve));
      else take(message, resolve);
    });
  };
}
