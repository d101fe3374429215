import { useTranslation } from 'react-i18next';
import type { HotspotLogin } from '@station/protocol/agent-api';
import { useCommand } from '../../api/command.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { QrCode } from '../../ui/qr-code.tsx';
import { wifiCode } from './wifi-code.ts';

/** Name and password of the setup hotspot, as the installer printed them. For owners, and read only when they ask. */
export function HotspotCard() {
  const { t } = useTranslation();
  const show = useCommand((session) => session.call('GET /api/system/hotspot'));
  return (
    <Card title={t('station.hotspot.title')}>
      <p className="-mt-2 mb-4 text-ink-soft">{t('station.hotspot.help')}</p>
      {show.data ? (
        <Shown {...show.data} />
      ) : (
        <Button busy={show.isPending} onClick={() => show.mutate()}>
          {t('station.hotspot.show')}
        </Button>
      )}
      <ProblemNote error={show.error} />
    </Card>
  );
}

function Shown({ ssid, password }: HotspotLogin) {
  const { t } = useTranslation();
  return (
    <>
      <dl className="space-y-2">
        <div>
          <dt className="text-small text-ink-soft">{t('station.hotspot.name')}</dt>
          <dd className="font-mono break-all select-all">{ssid}</dd>
        </div>
        <div>
          <dt className="text-small text-ink-soft">{t('station.hotspot.password')}</dt>
          {password === null ? (
            <dd>{t('station.hotspot.open')}</dd>
          ) : (
            <dd className="font-mono break-all select-all">{password}</dd>
          )}
        </div>
      </dl>
      <div className="mx-auto mt-4 w-full max-w-48">
        <QrCode text={wifiCode({ ssid, password })} label={t('station.hotspot.qr', { ssid })} />
        <p className="mt-2 text-center text-small text-ink-soft">{t('station.hotspot.qrHelp')}</p>
      </div>
    </>
  );
}
