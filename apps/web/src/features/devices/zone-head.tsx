import { Pencil } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Zone } from '@station/protocol/devices';
import { classNames } from '../../ui/class-names.ts';

/** It comes in a chunk of its own: the first load has no room for it. */
const ZoneDialog = lazy(async () => ({ default: (await import('./zone-dialog.tsx')).ZoneDialog }));

export function ZoneHead({
  id,
  title,
  isShort = false,
  children,
}: {
  id: string;
  title: string;
  isShort?: boolean;
  /** What can be done with all of its devices. */
  children?: ReactNode;
}) {
  return (
    <div className="mb-1 flex min-h-11 items-center gap-1">
      <h2 id={id} className={classNames('min-w-0 font-strong', isShort ? 'truncate' : 'break-words')}>
        {title}
      </h2>
      {children}
    </div>
  );
}

/** Opens the dialog that renames or removes it. */
export function ZoneEdit({ zone }: { zone: Zone }) {
  const { t } = useTranslation();
  const [editing, setEditing] = useState(false);
  return (
    <>
      <button
        type="button"
        aria-label={t('home.zone.edit', { name: zone.name })}
        onClick={() => setEditing(true)}
        className="grid size-11 shrink-0 place-items-center rounded-xl text-ink-soft hover:text-ink"
      >
        <Pencil aria-hidden className="size-4" />
      </button>
      {editing && (
        <Suspense fallback={null}>
          <ZoneDialog zone={zone} onClose={() => setEditing(false)} />
        </Suspense>
      )}
    </>
  );
}

/** In the place of tiles: none are in the zone, or all of them are shown as favourites. */
export function NoTiles({ isEmpty, isShort = false }: { isEmpty: boolean; isShort?: boolean }) {
  const { t } = useTranslation();
  return (
    <p className={classNames('text-ink-soft', isShort && 'truncate')}>
      {t(isEmpty ? 'home.zone.empty' : 'home.zone.allFavourites')}
    </p>
  );
}
