import { useTranslation } from 'react-i18next';
import type { SetupState } from '@station/protocol/rest';
import { createSend } from '../../api/request.ts';
import { formatExact } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { textOf } from '../../ui/form.ts';
import { setupCodeName } from '../../ui/setup-code-field.tsx';
import { type RestoreCalls, inspectTimeoutMs, RestoreFlow, restoreTimeoutMs } from './restore-flow.tsx';

/** Nobody is logged in, so there is no session. */
const send = createSend(fetch.bind(globalThis), () => undefined);

/** The newest backup on the disks of the station; it needs no upload. */
export type FoundBackup = NonNullable<NonNullable<SetupState['lost']>['backup']>;

/** Restores a backup onto a station without an account; the set-up code is the permission. */
export function SetupRestore({ found, onRestored }: { found: FoundBackup | null; onRestored: () => void }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const calls: RestoreCalls = {
    begin: ({ bytes, name }, form) =>
      send('POST /api/setup/backup/uploads', { body: { bytes, name, code: textOf(form, setupCodeName).trim() } }),
    found: found && {
      text: t('backup.restore.onStation', {
        place: t(`backup.list.place.${found.place}`),
        time: formatExact(locale, Date.parse(found.madeAt)),
      }),
      take: (form) => send('POST /api/setup/backup/found', { body: { code: textOf(form, setupCodeName).trim() } }),
    },
    inspect: (upload, passphrase) =>
      send('POST /api/setup/backup/inspect', { body: { upload, passphrase }, timeoutMs: inspectTimeoutMs }),
    restore: async (upload, passphrase, accept) => {
      const body = { upload, passphrase, accept };
      const answer = await send('POST /api/setup/backup/restore', { body, timeoutMs: restoreTimeoutMs });
      onRestored();
      return answer;
    },
  };
  return <RestoreFlow calls={calls} asksCode />;
}
