import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Device, DeviceFault, DroppedHistory } from '@station/protocol/devices';
import { capabilityName, type CapabilityValue, commandName, valueWords } from '../../i18n/device-words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { Select, Switch } from '../../ui/fields.tsx';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { BigValue, DeviceNote, ValueAge, ValueSlider } from './device-parts.tsx';
import type { ControlledDevice, Setting } from './device-view.ts';

/** The current state of the device, and its commands. */
export function NowCard({ device, shown, usable }: { device: Device; shown: ControlledDevice; usable: boolean }) {
  const { t } = useTranslation();
  return (
    <Card
      title={t('devicePage.now')}
      aside={
        device.stateAt !== null && (
          <p className="text-small text-ink-soft">
            <TimeAgo at={device.stateAt} />
          </p>
        )
      }
    >
      <DeviceState device={device} shown={shown} usable={usable} />
    </Card>
  );
}

/** What a card and a sheet show of it. */
export function DeviceState({ device, shown, usable }: { device: Device; shown: ControlledDevice; usable: boolean }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { readings, settings, actions } = shown;
  const hasReported = device.stateAt !== null;
  const isSetting = (key: string): boolean => settings.some(({ capability }) => capability.key === key);
  const others = readings.filter(({ capability, value }) => value !== undefined && !isSetting(capability.key));
  return (
    <>
      {!hasReported && readings.every(({ value }) => value === undefined) && (
        <p className="text-ink-soft">{t('devicePage.noState')}</p>
      )}
      {others.length > 0 && (
        <dl className="flex flex-wrap gap-x-10 gap-y-4">
          {others.map((reading) => (
            <div key={reading.capability.key} className="min-w-0">
              <dt className="text-small text-ink-soft">{capabilityName(t, locale, reading.capability)}</dt>
              <dd className="text-title font-strong break-words md:text-value">
                <BigValue reading={reading} />
              </dd>
              <dd className="text-small text-ink-soft first-letter:uppercase empty:hidden">
                <ValueAge device={device} capability={reading.capability} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {settings.length > 0 && (
        <div className={classNames('space-y-4', others.length > 0 && 'mt-4 border-t border-line pt-4')}>
          {settings.map((setting) => (
            <SettingRow key={setting.capability.key} device={device} setting={setting} shown={shown} usable={usable} />
          ))}
        </div>
      )}
      {actions.length > 0 && (
        <div className="mt-4 flex flex-wrap gap-3">
          {actions.map((action) => (
            <Button key={action.action} disabled={!usable} onClick={() => shown.run(action)}>
              {commandName(locale, action)}
            </Button>
          ))}
        </div>
      )}
      <div className="mt-2">
        <DeviceNote device={device} shown={shown} />
      </div>
      {device.fault && device.status !== 'offline' && <FaultNote fault={device.fault} />}
      {device.dropped && <DroppedNote dropped={device.dropped} />}
    </>
  );
}

/** Why the messages of the device cannot be used, and what helps. */
function FaultNote({ fault }: { fault: DeviceFault }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const formatted = new Intl.NumberFormat(locale).format(fault.count);
  return (
    <div className="mt-2 rounded-xl bg-attention-soft p-3">
      <p>{t(`devicePage.fault.${fault.code}`)}</p>
      <p className="text-small text-ink-soft">
        <Sentence
          text={(time) => t('devicePage.fault.times', { count: fault.count, formatted, time })}
          slot={<TimeAgo at={fault.at} />}
        />
      </p>
      <p className="mt-1">{t('devicePage.fault.help')}</p>
    </div>
  );
}

/** What is missing in the history of the device, and what helps. */
function DroppedNote({ dropped }: { dropped: DroppedHistory }) {
  const { t } = useTranslation();
  const format = new Intl.NumberFormat(useLocale());
  const events = format.format(dropped.events);
  const values = format.format(dropped.values);
  return (
    <div className="mt-2 text-small text-ink-soft">
      {dropped.reasons.map((reason) => (
        <p key={reason}>{t(`devicePage.dropped.${reason}`)}</p>
      ))}
      <p>
        <Sentence
          text={(time) => t('devicePage.dropped.counts', { events, values, time })}
          slot={<TimeAgo at={dropped.at} />}
        />
      </p>
    </div>
  );
}

function SettingRow({
  device,
  setting,
  shown,
  usable,
}: {
  device: Device;
  setting: Setting;
  shown: ControlledDevice;
  usable: boolean;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { capability, value } = setting;
  const [moved, setMoved] = useState<number | null>(null);
  const label = capabilityName(t, locale, capability);
  if (capability.kind === 'enum') {
    return <ValueChoice label={label} setting={setting} usable={usable} onChoose={(one) => shown.send(setting, one)} />;
  }
  if (capability.kind === 'boolean') {
    return (
      <div className="flex min-h-11 items-center justify-between gap-4">
        <SettingValue device={device} label={label} setting={setting} />
        <Switch
          label={label}
          on={value === true}
          busy={shown.isPending}
          disabled={!usable}
          onToggle={(on) => shown.send(setting, on)}
        />
      </div>
    );
  }
  return (
    <div>
      <SettingValue device={device} label={label} setting={moved === null ? setting : { ...setting, value: moved }} />
      <ValueSlider
        label={label}
        setting={setting}
        disabled={!usable}
        isOff={shown.isOff(setting)}
        onMove={setMoved}
        onSettle={(next) => shown.send(setting, next)}
      />
    </div>
  );
}

/** The name and the value of a setting; for screen readers its control has both. */
function SettingValue({ device, label, setting }: { device: Device; label: string; setting: CapabilityValue }) {
  return (
    <div aria-hidden>
      <p className="text-small text-ink-soft">{label}</p>
      <p className="text-title font-strong md:text-value">
        <BigValue reading={setting} />
      </p>
      <p className="text-small text-ink-soft first-letter:uppercase empty:hidden">
        <ValueAge device={device} capability={setting.capability} />
      </p>
    </div>
  );
}

/** One of the values of an enum. */
function ValueChoice({
  label,
  setting: { capability, value },
  usable,
  onChoose,
}: {
  label: string;
  setting: Setting;
  usable: boolean;
  onChoose: (value: string) => void;
}) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { values = [] } = capability;
  const isKnown = typeof value === 'string' && values.includes(value);
  return (
    <Select
      label={label}
      value={isKnown ? value : ''}
      disabled={!usable}
      onChange={({ target }) => onChoose(target.value)}
      className="max-w-sm"
    >
      {!isKnown && (
        <option value="" disabled>
          {valueWords(t, locale, { capability, value })}
        </option>
      )}
      {values.map((one) => (
        <option key={one} value={one}>
          {valueWords(t, locale, { capability, value: one })}
        </option>
      ))}
    </Select>
  );
}
