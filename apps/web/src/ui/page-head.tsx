import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import type { Station } from '@station/protocol/rest';
import type { Freshness } from '../api/freshness.ts';
import { useServices } from '../api/services.ts';
import { FreshnessMark } from './freshness-mark.tsx';

/** Name of the station and state of the connection above, then what the page has to say first. */
export function PageHead({
  page,
  freshness,
  restarting = false,
  children,
}: {
  page: string;
  freshness?: Freshness;
  restarting?: boolean;
  children: ReactNode;
}) {
  const { t } = useTranslation();
  const name = useStationName() ?? t('app.name');
  useEffect(() => {
    document.title = page === name ? page : `${page} · ${name}`;
  }, [page, name]);
  return (
    <header className="mb-6 md:mb-8">
      <div className="mb-4 flex min-h-8 items-center justify-between gap-4 text-small text-ink-soft">
        <p className="truncate">{name}</p>
        {freshness && <FreshnessMark freshness={freshness} restarting={restarting} />}
      </div>
      {children}
    </header>
  );
}

function useStationName(): string | null {
  const { session } = useServices();
  const { data } = useQuery({
    queryKey: ['station'],
    queryFn: ({ signal }) => session.call<Station>('GET', '/api/station', { signal }),
    staleTime: 60_000,
    retry: 5,
  });
  return data?.name ?? null;
}
