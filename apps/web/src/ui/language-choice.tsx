import { useTranslation } from 'react-i18next';
import { useServices } from '../api/services.ts';
import { speak } from '../i18n/i18n.ts';
import { languages } from '../i18n/languages.ts';
import { classNames } from './class-names.ts';

export function LanguageChoice() {
  const { t, i18n } = useTranslation();
  const { memory } = useServices();
  return (
    <fieldset className="flex gap-2">
      <legend className="sr-only">{t('account.language')}</legend>
      {languages.map((language) => {
        const chosen = i18n.language === language;
        return (
          <label
            key={language}
            lang={language}
            className={classNames(
              'flex min-h-11 flex-1 cursor-pointer items-center justify-center rounded-xl border px-4 py-2 has-focus-visible:outline-3 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent',
              chosen ? 'border-accent bg-accent-soft font-strong text-accent' : 'border-line-strong hover:bg-sunken',
            )}
          >
            <input
              type="radio"
              name="language"
              className="sr-only"
              checked={chosen}
              onChange={() => void speak(i18n, memory, language)}
            />
            {t(`account.languages.${language}`)}
          </label>
        );
      })}
    </fieldset>
  );
}
