import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { DeviceWifi } from '@station/protocol/rest';
import { useCommand } from '../../api/command.ts';
import { useServices } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { WifiForm } from './wifi-form.tsx';

/** The network for new devices. Its name is shown, its password never again. */
export function WifiCard({ wifi, usable }: { wifi: DeviceWifi; usable: boolean }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const [editing, setEditing] = useState(false);
  const forget = useCommand(() => session.call('DELETE /api/settings/wifi'), { reads: ['settings', 'wifi'] });
  const { ssid, isOpen, updatedAt } = wifi;
  return (
    <Card title={t('settings.wifi.title')}>
      <p className="-mt-2 mb-4 text-ink-soft">{t('settings.wifi.help')}</p>
      {ssid === null ? (
        !editing && <p className="mb-4">{t('settings.wifi.none')}</p>
      ) : (
        <div className="mb-4">
          <p>
            <Sentence
              text={(mark) => t('settings.wifi.current', { ssid: mark })}
              slot={<span className="font-strong break-words">{ssid}</span>}
            />
          </p>
          <p className="text-small text-ink-soft">
            {t(isOpen ? 'settings.wifi.open' : 'settings.wifi.hidden')}{' '}
            {updatedAt !== null && (
              <span className="inline-block first-letter:uppercase">
                <Sentence text={(time) => t('settings.wifi.set', { time })} slot={<TimeAgo at={updatedAt} />} />.
              </span>
            )}
          </p>
        </div>
      )}
      {editing ? (
        <WifiForm
          ssid={ssid}
          submit={t('settings.save')}
          usable={usable}
          send={(body) => session.call('PUT /api/settings/wifi', { body })}
          onDone={(set) => {
            queries.setQueryData(['settings', 'wifi'], set);
            setEditing(false);
          }}
          onCancel={() => setEditing(false)}
        />
      ) : (
        <div className="flex flex-wrap gap-3">
          <Button disabled={!usable} onClick={() => setEditing(true)}>
            {t(ssid === null ? 'settings.wifi.choose' : 'settings.wifi.change')}
          </Button>
          {ssid !== null && (
            <Button kind="quiet" busy={forget.isPending} disabled={!usable} onClick={() => forget.mutate()}>
              {t('settings.wifi.forget')}
            </Button>
          )}
        </div>
      )}
      <ProblemNote error={forget.error} />
    </Card>
  );
}
