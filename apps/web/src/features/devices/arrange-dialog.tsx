import { useMutation } from '@tanstack/react-query';
import { GripVertical } from 'lucide-react';
import { type KeyboardEvent, type PointerEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Zone, ZoneOrder } from '@station/protocol/devices';
import { ownValue } from '@station/protocol/own-value';
import { zonesKey } from '../../api/devices.ts';
import { useServices } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { classNames } from '../../ui/class-names.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { moved } from './move-decide.ts';

/** The order of the zones, for the household. */
export function ArrangeDialog({ zones, onClose }: { zones: readonly Zone[]; onClose: () => void }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const [order, setOrder] = useState(zones);
  const isMoved = order.some(({ id }, index) => id !== zones[index]?.id);
  const save = useMutation({
    mutationFn: () => {
      const body: ZoneOrder = { ids: order.map(({ id }) => id) };
      return session.call('PUT /api/zones/order', { body });
    },
    onSuccess: () => {
      queries.setQueryData<readonly Zone[]>(zonesKey, order);
      onClose();
    },
  });
  return (
    <Dialog
      title={t('arrange.title')}
      onClose={onClose}
      actions={
        <>
          <Button kind="primary" busy={save.isPending} onClick={() => (isMoved ? save.mutate() : onClose())}>
            {t('arrange.done')}
          </Button>
          {isMoved && <Button onClick={onClose}>{t('action.cancel')}</Button>}
        </>
      }
    >
      <ZoneSorting order={order} onOrder={setOrder} />
      <ProblemNote error={save.error} />
    </Dialog>
  );
}

/** Rows that are dragged by their handle, or moved with the arrow keys while the handle has the focus. */
function ZoneSorting({ order, onOrder }: { order: readonly Zone[]; onOrder: (order: readonly Zone[]) => void }) {
  const { t } = useTranslation();
  const list = useRef<HTMLOListElement>(null);
  const [held, setHeld] = useState<string | null>(null);
  const [told, setTold] = useState('');
  const move = (id: string, to: number): void => {
    const from = order.findIndex((zone) => zone.id === id);
    const next = moved(order, from, to);
    if (next === order) return;
    onOrder(next);
    const position = next.findIndex((zone) => zone.id === id) + 1;
    setTold(t('arrange.moved', { name: order[from]?.name ?? '', position, total: next.length }));
  };
  const onKeyDown = (event: KeyboardEvent, index: number, id: string): void => {
    const to = ownValue({ ArrowUp: index - 1, ArrowDown: index + 1, Home: 0, End: order.length - 1 }, event.key);
    if (to === undefined) return;
    event.preventDefault();
    move(id, to);
  };
  const onPointerMove = (event: PointerEvent, id: string): void => {
    if (held !== id) return;
    const rows = [...(list.current?.children ?? [])].map((row) => row.getBoundingClientRect());
    const to = rows.findIndex(({ bottom }) => event.clientY < bottom);
    move(id, to === -1 ? rows.length - 1 : to);
  };
  return (
    <div>
      <h3 className="font-strong">{t('arrange.zones')}</h3>
      <p className="mb-2 text-small text-ink-soft">{t('arrange.zonesHelp')}</p>
      <ol ref={list} className="space-y-2">
        {order.map(({ id, name }, index) => (
          <li
            key={id}
            className={classNames(
              'flex items-center gap-1 rounded-xl border bg-surface',
              held === id ? 'border-accent shadow-lift' : 'border-line-strong',
            )}
          >
            <button
              type="button"
              aria-label={t('arrange.move', { name, position: index + 1, total: order.length })}
              onKeyDown={(event) => onKeyDown(event, index, id)}
              onPointerDown={(event) => {
                event.currentTarget.setPointerCapture(event.pointerId);
                setHeld(id);
              }}
              onPointerMove={(event) => onPointerMove(event, id)}
              onPointerUp={() => setHeld(null)}
              onPointerCancel={() => setHeld(null)}
              className="grid size-11 shrink-0 cursor-grab touch-none place-items-center rounded-xl text-ink-soft hover:text-ink active:cursor-grabbing"
            >
              <GripVertical aria-hidden className="size-5" />
            </button>
            <span className="min-w-0 flex-1 truncate pr-3">{name}</span>
          </li>
        ))}
      </ol>
      <p role="status" className="sr-only">
        {told}
      </p>
    </div>
  );
}
