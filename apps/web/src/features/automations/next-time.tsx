import { useServices } from '../../api/services.ts';
import { formatExact } from '../../i18n/relative-time.ts';
import { useLocale } from '../../i18n/use-locale.ts';

const dayMs = 24 * 3_600_000;

/** A moment ahead, as short as it is clear: "21:30", "Mon 07:00", "3 Dec". The reader's own time of day, as the exact one on hover. */
export function NextTime({ at }: { at: string }) {
  const locale = useLocale();
  const { clock } = useServices();
  const then = Date.parse(at);
  const ahead = then - clock.now();
  const format: Intl.DateTimeFormatOptions =
    ahead > 6 * dayMs
      ? { day: 'numeric', month: 'short' }
      : { hour: '2-digit', minute: '2-digit', ...(ahead > dayMs / 2 ? { weekday: 'short' } : {}) };
  return (
    <time dateTime={at} title={formatExact(locale, then)}>
      {new Intl.DateTimeFormat(locale, format).format(then)}
    </time>
  );
}
