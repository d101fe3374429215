import { useMutation } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { BackupSettingsPut, BackupView } from '@station/protocol/backup-api';
import { asProblem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Field } from '../../ui/fields.tsx';
import { textOf } from '../../ui/form.ts';
import { SwitchLine } from '../../ui/switch-line.tsx';
import { BackupProblem, type NewPassphrase, PassphraseFields } from './backup-parts.tsx';
import { passphraseFault } from './passphrase.ts';

/** The server is tried meanwhile; a NAS starts its disks first. */
const trialMs = 120_000;

/** The schedule, the places, and the stored passphrase. */
export function NightCard({ view, usable }: { view: BackupView; usable: boolean }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const { settings } = view;
  const [nightly, setNightly] = useState(settings.nightly);
  const [folder, setFolder] = useState(settings.folder);
  const [webdav, setWebdav] = useState(settings.webdav !== null);
  const [passphrase, setPassphrase] = useState<NewPassphrase>({ first: '', again: '' });
  const [changing, setChanging] = useState(false);
  const [fault, setFault] = useState<'short' | 'different' | null>(null);
  const change = (value: NewPassphrase): void => {
    setPassphrase(value);
    setFault(null);
  };
  const save = useMutation({
    mutationFn: (body: BackupSettingsPut) => session.call('PUT /api/backup/settings', { body, timeoutMs: trialMs }),
    onSuccess: (changed) => {
      queries.setQueryData(['backup'], changed);
      setPassphrase({ first: '', again: '' });
      setChanging(false);
    },
  });
  const isUrlWrong =
    save.error !== null && asProblem(save.error).faults.some(({ pointer }) => pointer === '/webdav/url');
  const asks = changing || (nightly && !settings.hasPassphrase);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const found = asks ? passphraseFault(passphrase.first, passphrase.again) : null;
    setFault(found);
    if (found !== null || !usable || save.isPending) return;
    const form = new FormData(event.currentTarget);
    save.mutate({
      nightly,
      folder,
      at: textOf(form, 'at') || settings.at,
      keep: { daily: Number(textOf(form, 'daily')), weekly: Number(textOf(form, 'weekly')) },
      webdav: webdav ? webdavOf(form) : null,
      ...(asks && { passphrase: passphrase.first }),
    });
  };
  return (
    <Card title={t('backup.settings.title')}>
      <form noValidate onSubmit={submit} className="space-y-4">
        <SwitchLine label={t('backup.settings.nightly')} on={nightly} onToggle={setNightly} />
        <Field label={t('backup.settings.at')} name="at" type="time" defaultValue={settings.at} fault={null} />
        <fieldset className="grid grid-cols-2 gap-4">
          <legend className="mb-2 font-strong">{t('backup.settings.keep')}</legend>
          <Field
            label={t('backup.settings.daily')}
            name="daily"
            type="number"
            min={1}
            max={365}
            fault={null}
            defaultValue={settings.keep.daily}
          />
          <Field
            label={t('backup.settings.weekly')}
            name="weekly"
            type="number"
            min={0}
            max={365}
            fault={null}
            defaultValue={settings.keep.weekly}
          />
        </fieldset>
        <SwitchLine
          label={t('backup.settings.folder')}
          on={folder}
          onToggle={setFolder}
          disabled={view.folder === 'unset' && !folder}
        />
        <p className="text-small text-ink-soft">{t(`backup.settings.folderState.${view.folder}`)}</p>
        <SwitchLine label={t('backup.settings.webdav')} on={webdav} onToggle={setWebdav} />
        {webdav && <WebdavFields settings={settings} isUrlWrong={isUrlWrong} />}
        {asks && <PassphraseFields value={passphrase} fault={fault} onChange={change} />}
        {settings.hasPassphrase && !changing && (
          <div>
            <p className="text-ink-soft">{t('backup.passphrase.stored')}</p>
            <Button kind="quiet" className="-ml-4" onClick={() => setChanging(true)}>
              {t('backup.passphrase.change')}
            </Button>
          </div>
        )}
        {save.error && <BackupProblem problem={asProblem(save.error)} />}
        <Button kind="primary" type="submit" busy={save.isPending} disabled={!usable} onClick={() => undefined}>
          {t('settings.save')}
        </Button>
        {save.isPending && webdav && <p role="status">{t('backup.settings.trying')}</p>}
        {save.isSuccess && <Saved view={save.data} />}
      </form>
    </Card>
  );
}

function Saved({ view }: { view: BackupView }) {
  const { t } = useTranslation();
  const fault = view.faults.find(({ place }) => place === 'webdav');
  if (fault === undefined) return <p role="status">{t('backup.settings.saved')}</p>;
  return (
    <p role="alert" className="rounded-xl bg-fault-soft p-3">
      {t('backup.settings.savedBut', { reason: t(`backup.place.${fault.reason}`) })}
    </p>
  );
}

/** An empty password stays as it is. */
function webdavOf(form: FormData): BackupSettingsPut['webdav'] {
  const password = textOf(form, 'password');
  const server = { url: textOf(form, 'url').trim(), username: textOf(form, 'username').trim() };
  return password === '' ? server : { ...server, password };
}

function WebdavFields({ settings: { webdav }, isUrlWrong }: { settings: BackupView['settings']; isUrlWrong: boolean }) {
  const { t } = useTranslation();
  return (
    <div className="space-y-4">
      <Field
        label={t('backup.settings.url')}
        name="url"
        type="url"
        fault={isUrlWrong ? t('backup.settings.noUrl') : null}
        placeholder="https://cloud.example.org/remote.php/dav/files/station"
        defaultValue={webdav?.url ?? ''}
      />
      <Field
        label={t('backup.settings.username')}
        name="username"
        autoComplete="off"
        fault={null}
        defaultValue={webdav?.username ?? ''}
      />
      <Field
        label={t('backup.settings.password')}
        name="password"
        type="password"
        fault={null}
        autoComplete="off"
        {...(webdav !== null && { help: t('backup.settings.passwordKept') })}
      />
    </div>
  );
}
