import { ChevronDown } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Device } from '@station/protocol/devices';
import { systemNames } from '@station/protocol/gateway-systems';
import { useTypeName } from '../../i18n/use-type-name.ts';
import { TimeAgo } from '../../ui/sentence.tsx';

/** Type, chip, id and firmware of the device, folded: who looks for them opens it. `firmware`: the update that waits. */
export function FactsCard({ device, firmware }: { device: Device; firmware: ReactNode }) {
  const { t } = useTranslation();
  const nameOf = useTypeName();
  const system = device.origin === undefined ? '' : systemNames[device.origin.dialect];
  return (
    <details className="group rounded-2xl border border-line bg-surface p-4 shadow-lift md:p-6">
      <summary className="-m-2 flex min-h-11 cursor-pointer list-none items-center justify-between gap-4 rounded-xl p-2 hover:bg-sunken">
        <h2 className="font-strong">{t('devicePage.facts.title')}</h2>
        <ChevronDown aria-hidden className="size-5 shrink-0 text-ink-soft transition-transform group-open:rotate-180" />
      </summary>
      <dl className="mt-4 grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-2">
        <Fact name={t('devicePage.facts.type')} value={nameOf(device.type)} />
        {device.chip !== null && <Fact name={t('devicePage.facts.chip')} value={device.chip} />}
        <Fact name={t('devicePage.facts.id')} value={device.externalId} />
        {device.origin && (
          <Fact
            name={t('devicePage.facts.origin')}
            value={device.origin.isGone ? t('devicePage.facts.originGone', { system }) : system}
          />
        )}
        {device.firmwareVersion !== null && (
          <Fact name={t('devicePage.facts.firmware')} value={device.firmwareVersion} />
        )}
        <dt className="text-ink-soft">{t('devicePage.facts.added')}</dt>
        <dd>
          <TimeAgo at={device.createdAt} />
        </dd>
      </dl>
      {firmware}
    </details>
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
