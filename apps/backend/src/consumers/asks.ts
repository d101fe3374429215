import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { createRateLimitedCounter } from '@station/kit/rate-limited-counter';
import { createTokenBucket } from '@station/kit/token-bucket';
import type { ConsumerKind } from '@station/protocol/consumers';
import type { Commands } from '../core/commands.ts';
import type { GatewayMessage } from '../core/foreign-devices-port.ts';
import type { Teller } from './teller.ts';

/** Bytes of what a consumer may send at once. */
const mostBytes = 4_096;
/** Commands that are on their way. */
const mostInFlight = 50;
const rate = { burst: 100, perSecond: 20 } as const;

type AskParts = {
  kind: ConsumerKind;
  teller: Teller;
  commands: Pick<Commands, 'send'>;
  clock: Clock;
  logger: BackendLogger;
};

/** What a consumer asks for becomes commands: bounded, and in its name. @returns takes one message; never throws. */
export function createAsks({ kind, teller, commands, clock, logger }: AskParts): (message: GatewayMessage) => void {
  const refused = createRateLimitedCounter<'too_large' | 'too_many' | 'not_understood' | 'refused', string>({
    clock,
    report: ({ key, sinceReport, detail }) =>
      logger.event('consumer_message_refused', { consumer: kind, reason: key, count: sinceReport, topic: detail }),
  });
  let inFlight = 0;
  const bucket = createTokenBucket(rate, clock.monotonic);
  const hasShare = (): boolean => inFlight < mostInFlight && bucket.take();
  const send = async (topic: string, deviceId: string, action: string, params: Readonly<Record<string, unknown>>) => {
    inFlight += 1;
    try {
      const sent = await commands.send({
        deviceId,
        action,
        params,
        userId: null,
        cause: { kind: 'consumer', id: kind },
      });
      if (sent.kind !== 'accepted') refused.count('refused', topic);
    } catch (error) {
      logger.failed(`a command of ${kind}`, error);
    } finally {
      inFlight -= 1;
    }
  };
  return ({ topic, payload, isRetained }) => {
    // What the broker kept was meant for another time.
    if (isRetained) return;
    if (payload.length > mostBytes) return refused.count('too_large', topic);
    const asks = teller.picture()?.read(topic, payload.toString('utf8')) ?? null;
    if (asks === null) return refused.count('not_understood', topic);
    for (const ask of asks) {
      if (!hasShare()) return refused.count('too_many', topic);
      switch (ask.kind) {
        case 'command':
          void send(topic, ask.deviceId, ask.action, ask.params);
          break;
        case 'everything':
          teller.everything();
          break;
        case 'state':
          teller.again(ask.deviceId);
          break;
        case 'answer':
          teller.say(ask);
          break;
      }
    }
  };
}
