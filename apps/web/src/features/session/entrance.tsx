import { useEffect, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { LanguageChoice } from '../../ui/fields.tsx';

/** The frame of the pages before one is logged in. */
export function Entrance({ title, lead, children }: { title: string; lead: string; children: ReactNode }) {
  const { t } = useTranslation();
  useEffect(() => {
    document.title = `${title} · ${t('app.name')}`;
  }, [title, t]);
  return (
    <main className="mx-auto flex min-h-dvh max-w-md flex-col justify-center px-4 py-8">
      <img src="/icon.svg" alt="" width="48" height="48" className="mb-4 rounded-xl" />
      <h1 className="text-title font-strong md:text-value">{title}</h1>
      <p className="mt-1 mb-6 text-ink-soft">{lead}</p>
      {children}
      <div className="mt-10">
        <LanguageChoice />
      </div>
    </main>
  );
}
