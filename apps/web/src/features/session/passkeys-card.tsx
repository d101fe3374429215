import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { type Passkey, PasskeyPatch } from '@station/protocol/passkeys';
import { useReading } from '../../api/reading.ts';
import { useServices } from '../../api/services.ts';
import { useStatus } from '../../api/station.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card, Skeleton } from '../../ui/card.tsx';
import { useConfirm } from '../../ui/confirm.tsx';
import { Field } from '../../ui/fields.tsx';
import { useForm } from '../../ui/form.ts';
import { FormDialog } from '../../ui/form-parts.tsx';
import { ReadFault } from '../../ui/problem.tsx';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { passkeyPlace } from './passkey-place.ts';

const AddPasskey = lazy(async () => ({ default: (await import('./add-passkey.tsx')).AddPasskey }));

const passkeysKey = ['passkeys'];

/** The user's passkeys. They can be removed everywhere; they are made where the browser can have them. */
export function PasskeysCard({ email }: { email: string }) {
  const { t } = useTranslation();
  const { queries } = useServices();
  const [adding, setAdding] = useState(false);
  const view = useReading(passkeysKey, 'GET /api/auth/passkeys');
  if (view.kind === 'fault') return <ReadFault title={t('passkeys.fault')} {...view} />;
  const place = passkeyPlace(location, window);
  const usable = view.kind === 'shown' && view.freshness.kind !== 'stale';
  return (
    <Card title={t('passkeys.title')}>
      <p className="text-small text-ink-soft">{t('passkeys.help')}</p>
      {view.kind === 'loading' && <Skeleton className="mt-4 h-12 w-full" />}
      {view.kind === 'shown' && view.value.passkeys.length > 0 && (
        <ul className="mt-2 divide-y divide-line">
          {view.value.passkeys.map((passkey) => (
            <Row key={passkey.id} passkey={passkey} usable={usable} />
          ))}
        </ul>
      )}
      {place === 'possible' ? (
        <Button className="mt-4" disabled={!usable} onClick={() => setAdding(true)}>
          {t('passkeys.add')}
        </Button>
      ) : (
        <Missing what={place} />
      )}
      {adding && (
        <Suspense>
          <AddPasskey
            email={email}
            onAdded={() => queries.invalidateQueries({ queryKey: passkeysKey })}
            onClose={() => setAdding(false)}
          />
        </Suspense>
      )}
    </Card>
  );
}

const linkLook = 'inline-flex min-h-11 items-center text-accent underline';

/** What has to change, so that this browser can have passkeys here. */
function Missing({ what }: { what: 'no_https' | 'no_name' | 'no_browser' }) {
  const { t } = useTranslation();
  const status = useStatus();
  if (what === 'no_browser') return <p className="mt-4">{t('passkeys.no_browser')}</p>;
  // The certificate of every station has this name.
  const name = (status.kind === 'shown' ? status.value.encryption?.names[0] : undefined) ?? 'station.local';
  const port = location.port === '' ? '' : `:${location.port}`;
  const address = `https://${name}${port}/account`;
  return (
    <div className="mt-4">
      <p>{t(`passkeys.${what}`)}</p>
      {what === 'no_https' ? (
        <Link href="/secure" className={linkLook}>
          {t('secure.title')}
        </Link>
      ) : (
        <a href={address} className={linkLook}>
          {address}
        </a>
      )}
    </div>
  );
}

function Row({ passkey, usable }: { passkey: Passkey; usable: boolean }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const [isRenaming, setRenaming] = useState(false);
  const [question, ask] = useConfirm();
  const { id, name, host, usedAt } = passkey;
  const askToRemove = (): void =>
    ask({
      title: t('passkeys.ask', { name }),
      text: <p>{t('passkeys.askHelp')}</p>,
      confirm: t('passkeys.remove'),
      run: async () => {
        await session
          .call('DELETE /api/auth/passkeys/:id', { params: { id } })
          .finally(() => void queries.invalidateQueries({ queryKey: passkeysKey }));
      },
    });
  return (
    <li className="flex flex-wrap items-center gap-x-4 py-3">
      <div className="min-w-0 flex-1">
        <p className="font-strong break-words">{name}</p>
        <p className="text-small text-ink-soft">
          {usedAt === null ? (
            t('passkeys.unused')
          ) : (
            <Sentence text={(time) => t('sessions.used', { time })} slot={<TimeAgo at={usedAt} />} />
          )}
          {host !== location.hostname && `${dot}${t('passkeys.at', { host })}`}
        </p>
      </div>
      <div className="-ml-4 flex flex-wrap sm:ml-0">
        <Button
          kind="quiet"
          disabled={!usable}
          aria-label={t('passkeys.renameNamed', { name })}
          onClick={() => setRenaming(true)}
        >
          {t('passkeys.rename')}
        </Button>
        <Button kind="quiet" disabled={!usable} aria-label={t('passkeys.removeNamed', { name })} onClick={askToRemove}>
          {t('passkeys.remove')}
        </Button>
      </div>
      {isRenaming && <RenameDialog passkey={passkey} onClose={() => setRenaming(false)} />}
      {question}
    </li>
  );
}

function RenameDialog({ passkey: { id, name: before }, onClose }: { passkey: Passkey; onClose: () => void }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const form = useForm({
    body: PasskeyPatch,
    fields: ['name'],
    send: (body) =>
      session
        .call('PATCH /api/auth/passkeys/:id', { params: { id }, body })
        .finally(() => void queries.invalidateQueries({ queryKey: passkeysKey })),
    onDone: onClose,
  });
  return (
    <FormDialog
      form={form}
      title={t('passkeys.renameAsk', { name: before })}
      submit={t('passkeys.rename')}
      onClose={onClose}
    >
      <Field label={t('passkeys.name')} help={t('passkeys.nameHelp')} {...form.field('name')} defaultValue={before} />
    </FormDialog>
  );
}
