import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  BackupKeep,
  type BackupSettings,
  BackupSettingsPut,
  type BackupView,
  WebdavServerPut,
} from '@station/protocol/backup-api';
import { useServices } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Field } from '../../ui/fields.tsx';
import { type Form, type Texts, useForm } from '../../ui/form.ts';
import { FormEnd } from '../../ui/form-parts.tsx';
import { SwitchLine } from '../../ui/switch-line.tsx';
import { PassphraseFields, passphraseForm, usePassphraseChecks } from './backup-parts.tsx';

/** The server is tried meanwhile; a NAS starts its disks first. */
const trialMs = 120_000;

const webdavFields = ['url', 'username', 'password'] as const;
type WebdavField = (typeof webdavFields)[number];

/** The limits of its fields. */
const properties = {
  at: BackupSettingsPut.properties.at,
  ...BackupKeep.properties,
  ...WebdavServerPut.properties,
  ...passphraseForm.body.properties,
};

/** The schedule, the places, and the stored passphrase. */
export function NightCard({ view, usable }: { view: BackupView; usable: boolean }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const { settings } = view;
  const [nightly, setNightly] = useState(settings.nightly);
  const [folder, setFolder] = useState(settings.folder);
  const [webdav, setWebdav] = useState(settings.webdav !== null);
  const [changing, setChanging] = useState(false);
  const form = useForm({
    body: { properties },
    fields: ['at', 'daily', 'weekly', ...webdavFields, ...passphraseForm.fields],
    checks: {
      ...usePassphraseChecks(),
      url: (url) => (/^https?:\/\//i.test(url) ? null : t('backup.settings.noUrl')),
    },
    usable,
    send: ({ at, daily, weekly, passphrase, ...texts }) => {
      const body: BackupSettingsPut = {
        nightly,
        folder,
        at,
        keep: { daily: Number(daily), weekly: Number(weekly) },
        webdav: webdav ? webdavOf(texts) : null,
        ...(passphrase !== '' && { passphrase }),
      };
      return session.call('PUT /api/backup/settings', { body, timeoutMs: trialMs });
    },
    onDone: (changed) => {
      queries.setQueryData(['backup'], changed);
      form.props.ref.current?.reset();
      setChanging(false);
    },
  });
  const toggle = (set: (on: boolean) => void) => (on: boolean) => {
    set(on);
    form.touch();
  };
  const fault = form.answer?.faults.find(({ place }) => place === 'webdav');
  return (
    <Card title={t('backup.settings.title')}>
      <form {...form.props} className="space-y-4">
        <SwitchLine label={t('backup.settings.nightly')} on={nightly} onToggle={toggle(setNightly)} />
        <Field label={t('backup.settings.at')} {...form.field('at')} type="time" defaultValue={settings.at} />
        <fieldset className="grid grid-cols-2 gap-4">
          <legend className="mb-2 font-strong">{t('backup.settings.keep')}</legend>
          {(['daily', 'weekly'] as const).map((name) => (
            <Field
              key={name}
              label={t(`backup.settings.${name}`)}
              {...form.field(name)}
              defaultValue={settings.keep[name]}
            />
          ))}
        </fieldset>
        <SwitchLine
          label={t('backup.settings.folder')}
          on={folder}
          onToggle={toggle(setFolder)}
          disabled={view.folder === 'unset' && !folder}
        />
        <p className="text-small text-ink-soft">{t(`backup.settings.folderState.${view.folder}`)}</p>
        <SwitchLine label={t('backup.settings.webdav')} on={webdav} onToggle={toggle(setWebdav)} />
        {webdav && <WebdavFields form={form} webdav={settings.webdav} />}
        {(changing || (nightly && !settings.hasPassphrase)) && <PassphraseFields form={form} />}
        {settings.hasPassphrase && !changing && (
          <div>
            <p className="text-ink-soft">{t('backup.passphrase.stored')}</p>
            <Button kind="quiet" className="-ml-4" onClick={() => setChanging(true)}>
              {t('backup.passphrase.change')}
            </Button>
          </div>
        )}
        <FormEnd
          form={form}
          submit={t('settings.save')}
          usable={usable}
          {...(!fault && { done: t('backup.settings.saved') })}
        />
        {form.isBusy && webdav && <p role="status">{t('backup.settings.trying')}</p>}
        {form.isDone && fault && (
          <p role="alert" className="rounded-xl bg-fault-soft p-3">
            {t('backup.settings.savedBut', { reason: t(`backup.place.${fault.reason}`) })}
          </p>
        )}
      </form>
    </Card>
  );
}

/** An empty password stays as it is. */
const webdavOf = ({ url, username, password }: Texts<WebdavField>): BackupSettingsPut['webdav'] =>
  password === '' ? { url, username } : { url, username, password };

function WebdavFields({
  form,
  webdav,
}: {
  form: Pick<Form<WebdavField, unknown>, 'field'>;
  webdav: BackupSettings['webdav'];
}) {
  const { t } = useTranslation();
  return (
    <div className="space-y-4">
      <Field
        label={t('backup.settings.url')}
        {...form.field('url')}
        type="url"
        placeholder="https://cloud.example.org/remote.php/dav/files/station"
        defaultValue={webdav?.url ?? ''}
      />
      <Field label={t('backup.settings.username')} {...form.field('username')} defaultValue={webdav?.username ?? ''} />
      <Field
        label={t('backup.settings.password')}
        {...form.field('password')}
        type="password"
        help={webdav === null ? undefined : t('backup.settings.passwordKept')}
      />
    </div>
  );
}
