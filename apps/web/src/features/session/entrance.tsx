import { useEffect, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { secureTwin } from '../../api/encryption.ts';
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
      {mayEncrypt() && (
        <p className="mt-6 text-small">
          <Link href={securePath} className="inline-flex min-h-11 items-center text-accent underline">
            {t('session.notEncrypted')}
          </Link>
        </p>
      )}
      <div className="mt-10">
        <LanguageChoice />
      </div>
    </main>
  );
}

const securePath = '/secure';
/** At other ports nothing can be said about HTTPS. */
const mayEncrypt = (): boolean => secureTwin(location) !== null && location.pathname !== securePath;
