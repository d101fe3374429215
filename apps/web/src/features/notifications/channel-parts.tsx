import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChannelState, NotificationChannel } from '@station/protocol/notifications';
import { useCommand } from '../../api/command.ts';
import { Button } from '../../ui/button.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { viewKey } from './notifications-key.ts';

/** How a channel does: the last message, or why none arrives. */
export function ChannelLine({ state }: { state: ChannelState }) {
  const { t } = useTranslation();
  const { fault, sentAt, waiting } = state;
  if (fault !== null)
    return (
      <p className="flex gap-3 rounded-xl bg-fault-soft p-3">
        <ToneIcon tone="fault" className="mt-0.5" />
        <span className="min-w-0">
          <Sentence
            text={(time) => t('notifications.state.fault', { time, reason: t(`notifications.reason.${fault.reason}`) })}
            slot={<TimeAgo at={fault.since} />}
          />
          {waiting > 0 && ` ${t('notifications.state.waiting', { count: waiting })}`}
        </span>
      </p>
    );
  return (
    <p className="text-small text-ink-soft">
      {sentAt === null ? (
        t('notifications.state.never')
      ) : (
        <Sentence text={(time) => t('notifications.state.sent', { time })} slot={<TimeAgo at={sentAt} />} />
      )}
      {waiting > 0 && ` ${t('notifications.state.waiting', { count: waiting })}`}
    </p>
  );
}

const testTimeoutMs = 40_000;

/** Sends a test, and says in words how it ended. */
export function TestButton({
  channel,
  usable,
  label,
  beside,
}: {
  channel: NotificationChannel;
  usable: boolean;
  /** Names the channel, for screen readers. */
  label: string;
  /** Another button in its row. */
  beside?: ReactNode;
}) {
  const { t } = useTranslation();
  const test = useCommand(
    (session) =>
      channel === 'push' || channel === 'email'
        ? session.call('POST /api/notifications/test', { body: { channel }, timeoutMs: testTimeoutMs })
        : session.call('POST /api/notifications/station/test', { body: { channel }, timeoutMs: testTimeoutMs }),
    { reads: viewKey },
  );
  const fault = test.data?.fault ?? null;
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap gap-2">
        <Button
          busy={test.isPending}
          disabled={!usable}
          onClick={() => test.mutate()}
          aria-label={`${t('notifications.test')}: ${label}`}
        >
          {t('notifications.test')}
        </Button>
        {beside}
      </div>
      <div aria-live="polite">
        {test.isSuccess && (
          <p className="flex gap-3">
            <ToneIcon tone={fault === null ? 'ok' : 'fault'} className="mt-0.5" />
            <span className="min-w-0">
              {fault === null
                ? t('notifications.result.sent')
                : t('notifications.result.failed', { reason: t(`notifications.reason.${fault}`) })}
              {test.data.detail !== null && (
                <span className="block text-small text-ink-soft" lang="en">
                  {test.data.detail}
                </span>
              )}
            </span>
          </p>
        )}
        <ProblemNote error={test.error} />
      </div>
    </div>
  );
}
