import { once } from 'node:events';
import { Message, sessionBus } from '@jellybrick/dbus-next';

const name = 'org.freedesktop.timedate1';

export type FakeTimedate = AsyncDisposable & {
  isNtpOn(): boolean;
  /** Milliseconds since the epoch, of each SetTime that was not refused. */
  times: number[];
  refused(): number;
};

/**
 * systemd-timedated as a station meets it (systemd, src/timedate/timedated.c): SetNTP answers when the stop is queued, and SetTime is
 * refused with AutomaticTimeSyncEnabled until the service has ended.
 * @param stopMs how long the service of time synchronisation takes to stop.
 * @param answersSwitchOff false: SetNTP(false) is never answered.
 */
export async function startFakeTimedate(
  address: string,
  { stopMs, answersSwitchOff }: { stopMs: number; answersSwitchOff: boolean },
): Promise<FakeTimedate> {
  const bus = sessionBus({ busAddress: address, authMethods: ['EXTERNAL'] });
  await once(bus, 'connect');
  bus.on('error', () => undefined);
  const times: number[] = [];
  let isOn = true;
  let stoppedAtMs = Infinity;
  let refused = 0;
  bus.addMethodHandler((message: Message) => {
    if (message.interface !== name) return false;
    if (message.member === 'SetNTP') {
      isOn = message.body[0] === true;
      stoppedAtMs = isOn ? Infinity : performance.now() + stopMs;
      if (isOn || answersSwitchOff) bus.send(Message.newMethodReturn(message));
      return true;
    }
    if (message.member !== 'SetTime') return false;
    if (performance.now() < stoppedAtMs) {
      refused += 1;
      bus.send(
        Message.newError(message, `${name}.AutomaticTimeSyncEnabled`, 'Previous request is not finished, refusing.'),
      );
      return true;
    }
    times.push(Number(message.body[0]) / 1000);
    bus.send(Message.newMethodReturn(message));
    return true;
  });
  await bus.requestName(name, 0);
  return {
    isNtpOn: () => isOn,
    times,
    refused: () => refused,
    [Symbol.asyncDispose]: async () => {
      bus.disconnect();
      await new Promise(setImmediate);
    },
  };
}
