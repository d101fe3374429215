import { useTranslation } from 'react-i18next';
import { knownLanguage } from '@station/protocol/languages';
import type { NotificationsView } from '@station/protocol/notifications';
import { useCommand } from '../../api/command.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { LinkButton } from '../../ui/links.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { ChannelLine, TestButton } from './channel-parts.tsx';
import { viewKey } from './notifications-key.ts';
import { ownSubscription, pushObstacle, subscribe, surroundings, unsubscribe } from './push.ts';

/** Whether this browser shows notifications, and if not, what helps. */
export function BrowserCard({ view, usable }: { view: NotificationsView; usable: boolean }) {
  const { t, i18n } = useTranslation();
  const own = ownSubscription(view);
  const afterwards = { reads: viewKey };
  const turnOn = useCommand(async (session) => {
    const body = await subscribe(view.push.publicKey, knownLanguage(i18n.language));
    await session.call('PUT /api/notifications/push', { body });
  }, afterwards);
  const turnOff = useCommand(async (session, id: string) => {
    await session.call('DELETE /api/notifications/push/:id', { params: { id } });
    await unsubscribe();
  }, afterwards);
  const obstacle = pushObstacle(surroundings());
  const others = view.push.subscriptions.filter((one) => one.id !== own?.id).length;
  return (
    <Card title={t('notifications.browser.title')}>
      <div className="space-y-4">
        {obstacle !== null ? (
          <>
            <p className="flex gap-3">
              <ToneIcon tone="attention" className="mt-0.5" />
              <span className="min-w-0">{t(`notifications.browser.obstacle.${obstacle}`)}</span>
            </p>
            {obstacle === 'insecure' && <LinkButton href="/secure">{t('notifications.browser.secure')}</LinkButton>}
          </>
        ) : own === null ? (
          <>
            <p>{t('notifications.browser.off')}</p>
            <Button kind="primary" busy={turnOn.isPending} disabled={!usable} onClick={() => turnOn.mutate()}>
              {t('notifications.browser.turnOn')}
            </Button>
          </>
        ) : (
          <>
            <p className="flex gap-3">
              <ToneIcon tone="ok" className="mt-0.5" />
              <span className="min-w-0">{t('notifications.browser.on')}</span>
            </p>
            {view.channels.push.fault !== null && <ChannelLine state={view.channels.push} />}
            <TestButton
              channel="push"
              usable={usable}
              label={t('notifications.browser.title')}
              beside={
                <Button kind="quiet" busy={turnOff.isPending} disabled={!usable} onClick={() => turnOff.mutate(own.id)}>
                  {t('notifications.browser.turnOff')}
                </Button>
              }
            />
          </>
        )}
        {turnOn.error && <SubscribeFault error={turnOn.error} />}
        <ProblemNote error={turnOff.error} />
        {others > 0 && (
          <p className="text-small text-ink-soft">{t('notifications.browser.others', { count: others })}</p>
        )}
        <p className="text-small text-ink-soft">{t('notifications.browser.needsInternet')}</p>
      </div>
    </Card>
  );
}

/** The browser's own refusals have names (Push API, section 8); everything else is a fault of the request. */
function SubscribeFault({ error }: { error: Error }) {
  const { t } = useTranslation();
  if (!(error instanceof DOMException)) return <ProblemNote error={error} />;
  return (
    <div role="alert" className="flex gap-3 rounded-xl bg-fault-soft p-3">
      <ToneIcon tone="fault" className="mt-0.5" />
      <p>{t(`notifications.browser.failed.${error.name === 'NotAllowedError' ? 'denied' : 'service'}`)}</p>
    </div>
  );
}
