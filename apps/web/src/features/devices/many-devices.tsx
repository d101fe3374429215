import { Cpu, LayoutGrid, Trash2, X } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Device } from '@station/protocol/devices';
import { Button } from '../../ui/button.tsx';
import { UsedBy } from '../../ui/used-by.tsx';
import type { Removal } from './use-removal.ts';
import { FailedNote, ZoneOfDevices } from './zone-of-devices.tsx';

/* What is done with many devices at once. */

/** Above the bar of a phone, at the lower edge of a desk. It covers the page only while something is chosen. */
export function ManyBar({
  devices,
  usable,
  onFirmware,
  onRemove,
  onClear,
}: {
  /** The chosen ones. */
  devices: readonly Device[];
  usable: boolean;
  onFirmware: () => void;
  onRemove: () => void;
  onClear: () => void;
}) {
  const { t } = useTranslation();
  const [isMoving, setMoving] = useState(false);
  return (
    <section aria-label={t('devices.many.title')} className="many-place grid grid-cols-3 items-center gap-2 md:flex">
      <p role="status" className="col-span-2 px-2 font-strong md:mr-auto">
        {t('devices.many.count', { count: devices.length })}
      </p>
      <Button
        kind="quiet"
        className="justify-self-end md:order-last"
        aria-label={t('devices.many.clear')}
        onClick={onClear}
      >
        <X aria-hidden className="size-5" />
      </Button>
      <Button className={action} disabled={!usable} onClick={() => setMoving(true)}>
        <LayoutGrid aria-hidden className="size-5" />
        {t('devices.many.zone')}
      </Button>
      <Button className={action} disabled={!usable} onClick={onFirmware}>
        <Cpu aria-hidden className="size-5" />
        {t('devices.many.firmware')}
      </Button>
      <Button className={action} disabled={!usable} onClick={onRemove}>
        <Trash2 aria-hidden className="size-5" />
        {t('devices.many.remove')}
      </Button>
      {isMoving && (
        <ZoneOfDevices
          devices={devices}
          onClose={(isDone) => {
            setMoving(false);
            if (isDone) onClear();
          }}
        />
      )}
    </section>
  );
}

/** On a phone the icon is above its word. */
const action = 'flex-col gap-0 px-1 text-small md:flex-row md:gap-2 md:px-4 md:text-body';

/** The removal that can still be undone, and how it goes after that. */
export function RemovalNote({ removal, nameOf }: { removal: Removal; nameOf: (id: string) => string }) {
  const { t } = useTranslation();
  const { state } = removal;
  if (state.kind === 'none') return null;
  if (state.kind === 'failed') {
    const { failed } = state;
    return (
      <NoteBox>
        <FailedNote failed={failed} />
        <div className="mt-3 flex flex-wrap gap-2">
          <Button kind="primary" onClick={() => removal.begin(failed.ids)}>
            {t('action.retry')}
          </Button>
          <Button onClick={removal.undo}>{t('devices.removal.keep')}</Button>
        </div>
      </NoteBox>
    );
  }
  if (state.kind === 'sending') {
    const { done, ids } = state;
    return (
      <NoteBox>
        <p role="status">{t('devices.removal.sending', { done, total: ids.length })}</p>
      </NoteBox>
    );
  }
  const { ids, leftS } = state;
  const [only = ''] = ids;
  const words =
    ids.length === 1
      ? t('devices.removal.one', { name: nameOf(only) })
      : t('devices.removal.some', { count: ids.length });
  return (
    <NoteBox>
      <div
        onMouseEnter={() => removal.hold(true)}
        onMouseLeave={() => removal.hold(false)}
        onFocus={() => removal.hold(true)}
        onBlur={() => removal.hold(false)}
      >
        <p role="status" className="font-strong break-words">
          {words}
        </p>
        <p className="text-small text-ink-soft">
          {t('devices.removal.help')} {t('devices.removal.leave')}
        </p>
        <UsedBy ids={ids} />
        <div className="mt-3 flex flex-wrap items-center gap-2">
          <Button kind="primary" onClick={removal.undo}>
            {t('action.undo')}
          </Button>
          <Button onClick={removal.commit}>{t('devices.removal.now')}</Button>
          <p aria-hidden className="ml-auto text-small text-ink-soft tabular-nums">
            {t('devices.removal.left', { count: leftS })}
          </p>
        </div>
      </div>
    </NoteBox>
  );
}

const NoteBox = ({ children }: { children: ReactNode }) => <section className="many-place p-4">{children}</section>;
