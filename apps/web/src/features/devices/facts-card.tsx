import { useMutation } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import type { Device } from '@station/protocol/devices';
import { devicesKey } from '../../api/device-keys.ts';
import { asProblem } from '../../api/problem.ts';
import { useServices } from '../../api/services.ts';
import { typeName } from '../../i18n/device-words.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemNote } from '../../ui/problem-note.tsx';
import { TimeAgo } from '../../ui/time-ago.tsx';

/** What kind of thing it is, and the way to be rid of it. */
export function FactsCard({ device, mayRemove, usable }: { device: Device; mayRemove: boolean; usable: boolean }) {
  const { t } = useTranslation();
  return (
    <Card title={t('device.facts.title')}>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-2">
        <Fact name={t('device.facts.type')} value={typeName(t, device.type)} />
        {device.firmwareVersion !== null && <Fact name={t('device.facts.firmware')} value={device.firmwareVersion} />}
        {device.chip !== null && <Fact name={t('device.facts.chip')} value={device.chip} />}
        <Fact name={t('device.facts.id')} value={device.externalId} />
        <dt className="text-ink-soft">{t('device.facts.added')}</dt>
        <dd>
          <TimeAgo at={device.createdAt} />
        </dd>
      </dl>
      {mayRemove && <Remove device={device} usable={usable} />}
    </Card>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt className="text-ink-soft">{name}</dt>
      <dd className="break-words">{value}</dd>
    </>
  );
}

function Remove({ device, usable }: { device: Device; usable: boolean }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const [, navigate] = useLocation();
  const [asking, setAsking] = useState(false);
  const remove = useMutation({
    mutationFn: () => session.call<void>('DELETE', `/api/devices/${device.id}`),
    onSuccess: () => {
      navigate('/');
      queries.setQueryData<readonly Device[]>(devicesKey, (all) => all?.filter(({ id }) => id !== device.id));
    },
  });
  return (
    <div className="mt-4 space-y-3 border-t border-line pt-4">
      <Button busy={remove.isPending} disabled={!usable} className="w-full" onClick={() => setAsking(true)}>
        <Trash2 aria-hidden className="size-5" />
        {t('device.remove.button')}
      </Button>
      {remove.error && <ProblemNote problem={asProblem(remove.error)} />}
      {asking && (
        <Dialog
          title={t('device.remove.title', { name: device.name })}
          onClose={() => setAsking(false)}
          actions={
            <>
              <Button
                kind="primary"
                onClick={() => {
                  setAsking(false);
                  remove.mutate();
                }}
              >
                {t('device.remove.confirm')}
              </Button>
              <Button onClick={() => setAsking(false)}>{t('device.remove.keep')}</Button>
            </>
          }
        >
          <p>{t('device.remove.history')}</p>
          <p>{t('device.remove.again')}</p>
        </Dialog>
      )}
    </div>
  );
}
