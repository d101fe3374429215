import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CommandRequest } from '@station/protocol/device-commands';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { useDevices, useDeviceTypes, useZones } from '../../api/devices.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { findOptions } from '../../ui/find-options.ts';
import { SearchField } from '../../ui/search-field.tsx';

/** The commands that bring a device to its present state; handed in, because devices are another feature. */
export type StateCommands = (device: Device, type: DeviceType | undefined) => CommandRequest[];

/** Chooses devices whose present state the scene takes over. */
export function PresentStateDialog({
  stateCommands,
  onTake,
  onClose,
}: {
  stateCommands: StateCommands;
  onTake: (states: ReadonlyMap<string, readonly CommandRequest[]>) => void;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const view = useDevices();
  const types = useDeviceTypes();
  const zones = new Map((useZones() ?? []).map(({ id, name }) => [id, name] as const));
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [isChecked, setChecked] = useState(false);
  const states = new Map(
    (view.kind === 'shown' ? view.value : []).flatMap((device) => {
      const commands = stateCommands(device, types?.of(device));
      return commands.length === 0 ? [] : [[device.id, { device, commands }] as const];
    }),
  );
  const options = [...states.values()].map(({ device: { id, name, zoneId } }) => {
    return { value: id, label: name, hint: zones.get(zoneId ?? '') ?? '' };
  });
  const found = findOptions([{ label: '', options }], typed);
  const take = (): void => {
    setChecked(true);
    if (chosen.size === 0) return;
    onTake(new Map([...states].flatMap(([id, { commands }]) => (chosen.has(id) ? [[id, commands] as const] : []))));
    onClose();
  };
  const choose = (id: string, isChosen: boolean): void =>
    setChosen(new Set(isChosen ? [...chosen, id] : [...chosen].filter((one) => one !== id)));
  return (
    <Dialog
      title={t('scenes.present')}
      onClose={onClose}
      actions={
        <>
          <Button kind="primary" onClick={take}>
            {t('scenes.take')}
          </Button>
          <Button kind="quiet" onClick={onClose}>
            {t('action.cancel')}
          </Button>
        </>
      }
    >
      <p className="text-ink-soft">{t(states.size === 0 ? 'scenes.noDevices' : 'scenes.presentHelp')}</p>
      <SearchField label={t('scenes.search')} value={typed} onChange={setTyped} />
      <ul
        aria-label={t('scenes.devices')}
        className="h-72 divide-y divide-line overflow-y-auto rounded-xl border border-line-strong"
      >
        {found.options.map(({ value, label, hint }) => (
          <li key={value}>
            <label className="flex min-h-12 cursor-pointer items-center gap-3 px-3 py-2 hover:bg-sunken">
              <input
                type="checkbox"
                checked={chosen.has(value)}
                onChange={({ target }) => choose(value, target.checked)}
                className="size-5 shrink-0 accent-(--accent)"
              />
              <span className="min-w-0 flex-1 break-words">{label}</span>
              <span className="text-small text-ink-soft">{hint}</span>
            </label>
          </li>
        ))}
        {found.isCut && <li className="px-3 py-2 text-small text-ink-soft">{t('automations.picker.more')}</li>}
      </ul>
      {isChecked && chosen.size === 0 && (
        <p role="alert" className="text-small text-fault">
          {t('scenes.nothingChosen')}
        </p>
      )}
    </Dialog>
  );
}
