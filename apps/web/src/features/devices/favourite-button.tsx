import { Star } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { Device } from '@station/protocol/devices';
import { useFavourites, useSetFavourite } from '../../api/favourites.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { problemWords } from '../../i18n/words.ts';
import { classNames } from '../../ui/class-names.ts';

/** Puts a device first at home, for this person alone. */
export function FavouriteButton({ device: { id, name }, usable }: { device: Device; usable: boolean }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const favourites = useFavourites();
  const set = useSetFavourite();
  const isFavourite = favourites?.includes(id) ?? false;
  return (
    <div className="ml-auto flex shrink-0 items-center gap-2">
      <span role="alert" className="text-small text-fault">
        {set.error && problemWords(t, locale, set.error)}
      </span>
      <button
        type="button"
        aria-pressed={isFavourite}
        aria-label={t('devicePage.favourite', { name })}
        title={t('devicePage.favourite', { name })}
        aria-disabled={!usable || favourites === null || undefined}
        onClick={() => usable && favourites !== null && set.mutate({ id, isFavourite: !isFavourite })}
        className="grid size-11 place-items-center rounded-xl text-ink-soft hover:text-ink"
      >
        <Star aria-hidden className={classNames('size-6', isFavourite && 'fill-glow text-glow')} />
      </button>
    </div>
  );
}
