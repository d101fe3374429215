import { useTranslation } from 'react-i18next';
import { localeFor, preferredLanguage } from './languages.ts';

/** The locale for numbers and dates of the reader. */
export function useLocale(): string {
  const { i18n } = useTranslation();
  return localeFor(preferredLanguage(i18n.language, []), navigator.languages);
}
