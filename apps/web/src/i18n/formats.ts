/* Formats by locale and options. To make one costs more than to use it a hundred times. */

type Format = 'NumberFormat' | 'DateTimeFormat' | 'RelativeTimeFormat';
const kept = new Map<string, unknown>();

function keep<Made>(format: Format, locale: string, options: object, make: () => Made): Made {
  const key = `${format} ${locale} ${JSON.stringify(options)}`;
  let made = kept.get(key) as Made | undefined;
  if (made === undefined) kept.set(key, (made = make()));
  return made;
}

export const numberFormat = (locale: string, options: Intl.NumberFormatOptions = {}): Intl.NumberFormat =>
  keep('NumberFormat', locale, options, () => new Intl.NumberFormat(locale, options));

export const dateFormat = (locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
  keep('DateTimeFormat', locale, options, () => new Intl.DateTimeFormat(locale, options));

export const relativeFormat = (locale: string): Intl.RelativeTimeFormat =>
  keep('RelativeTimeFormat', locale, {}, () => new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }));
