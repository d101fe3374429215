import { CirclePlus, CornerDownLeft, Lock, type LucideIcon, Plus, ScrollText, Search } from 'lucide-react';
import { type KeyboardEvent, useCallback, useId, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import { ownValue } from '@station/protocol/own-value';
import { isManager, reaches } from '@station/protocol/roles';
import { useUser } from '../api/services.ts';
import { useDeviceEntries } from '../features/devices/find-devices.ts';
import { useSceneEntries } from '../features/scenes/find-scenes.ts';
import { useSessionEntries } from '../features/session/find-session.ts';
import { useStationEntries } from '../features/station/find-station.ts';
import { classNames } from '../ui/class-names.ts';
import { find, findable } from '../ui/find-decide.ts';
import type { FindEntry } from '../ui/find-entry.ts';
import { isListed, placeMarks } from './place-marks.ts';

type Group = { name: FindEntry['group']; entries: readonly FindEntry[] };

/** Of each group so many are listed; more letters find the others. */
const mostOfGroup = 8;
const mostDevicesAtFirst = 5;

/** Search for everything: a text field with a list below it (the ARIA pattern "combobox with listbox"). */
export function Palette({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const open = useCallback(
    (path: string) => {
      onClose();
      navigate(path);
    },
    [onClose, navigate],
  );
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState<string | null>(null);
  const entries = usePaletteEntries(open);
  const groups = useGroups(entries, typed);
  const shown = groups.flatMap((group) => group.entries);
  const active = shown.find(({ id }) => id === chosen) ?? shown[0];
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  useLayoutEffect(() => {
    dialog.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [active?.id]);
  const run = (entry: FindEntry): void => {
    entry.run();
    if (entry.staysOpen) setChosen(entry.id);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing || shown.length === 0 || active === undefined) return;
    const at = shown.indexOf(active);
    const step = ownValue({ ArrowDown: 1, ArrowUp: -1, PageDown: mostOfGroup, PageUp: -mostOfGroup }, event.key);
    if (step !== undefined) {
      const next = Math.abs(step) === 1 ? (at + step + shown.length) % shown.length : at + step;
      setChosen(shown[Math.max(0, Math.min(shown.length - 1, next))]?.id ?? null);
    } else if (event.key === 'Enter') run(active);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      aria-label={t('find.title')}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={({ target }) => target === dialog.current && onClose()}
      className="mx-auto mt-0 mb-auto max-h-dvh w-full max-w-full bg-transparent p-0 text-ink sm:mt-[10vh] sm:w-[min(38rem,calc(100vw-2rem))]"
    >
      <div className="flex max-h-dvh flex-col border border-line bg-surface shadow-lift sm:max-h-[75vh] sm:rounded-2xl">
        <div className="flex items-center gap-3 border-b border-line pl-4">
          <Search aria-hidden className="size-5 shrink-0 text-ink-soft" />
          <input
            type="text"
            role="combobox"
            aria-expanded={shown.length > 0}
            aria-controls={`${id}-list`}
            aria-autocomplete="list"
            aria-activedescendant={active && `${id}-${active.id}`}
            aria-label={t('find.title')}
            placeholder={t('find.placeholder')}
            autoFocus
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            enterKeyHint="go"
            maxLength={100}
            value={typed}
            onChange={({ target }) => {
              setTyped(target.value);
              setChosen(null);
            }}
            onKeyDown={onKeyDown}
            className="min-h-14 min-w-0 flex-1 bg-transparent text-ink placeholder:text-ink-soft focus-visible:outline-none"
          />
          <button
            type="button"
            onClick={onClose}
            className="m-1.5 min-h-11 shrink-0 rounded-xl px-3 text-small font-strong text-accent hover:bg-accent-soft"
          >
            {t('find.close')}
          </button>
        </div>
        <p role="status" className="sr-only">
          {typed !== '' && t('find.count', { count: shown.length })}
          {active?.staysOpen && active.id === chosen && ` ${active.title}. ${active.detail ?? ''}`}
        </p>
        {shown.length === 0 && (
          <p className="px-4 py-8 text-center text-ink-soft">
            {typed === '' ? t('app.loading') : t('find.nothing', { typed })}
          </p>
        )}
        <div
          id={`${id}-list`}
          role="listbox"
          aria-label={t('find.results')}
          className="min-h-0 overflow-y-auto overscroll-contain p-2 empty:hidden"
        >
          {groups.map((group) => (
            <div key={group.name} role="group" aria-labelledby={`${id}-${group.name}`} className="mb-2 last:mb-0">
              <p id={`${id}-${group.name}`} role="presentation" className="px-3 py-1 text-small text-ink-soft">
                {t(`find.groups.${group.name}`)}
              </p>
              {group.entries.map((entry) => (
                <Option
                  key={entry.id}
                  id={`${id}-${entry.id}`}
                  entry={entry}
                  isActive={entry === active}
                  onPoint={() => setChosen(entry.id)}
                  onRun={() => run(entry)}
                />
              ))}
            </div>
          ))}
        </div>
      </div>
    </dialog>
  );
}

function Option({
  id,
  entry,
  isActive,
  onPoint,
  onRun,
}: {
  id: string;
  entry: FindEntry;
  isActive: boolean;
  onPoint: () => void;
  onRun: () => void;
}) {
  const { title, detail, icon: Icon } = entry;
  return (
    // The keyboard is with the text field, which names the active option.
    <div
      id={id}
      role="option"
      aria-selected={isActive}
      onMouseMove={() => !isActive && onPoint()}
      onMouseDown={(event) => event.preventDefault()}
      onClick={onRun}
      className={classNames(
        'flex min-h-12 cursor-pointer items-center gap-3 rounded-xl px-3 py-2',
        isActive && 'bg-accent-soft',
      )}
    >
      <Icon aria-hidden className={classNames('size-5 shrink-0', isActive ? 'text-accent' : 'text-ink-soft')} />
      <span className="min-w-0 flex-1">
        <span className="block break-words">{title}</span>
        {detail !== undefined && detail !== '' && <span className="block text-small text-ink-soft">{detail}</span>}
      </span>
      {isActive && <CornerDownLeft aria-hidden className="hidden size-4 shrink-0 text-ink-soft sm:block" />}
    </div>
  );
}

/** The groups in the order of their best entry. Before anything is typed, switching is left out: there would be too much of it. */
function useGroups(entries: readonly FindEntry[], typed: string): Group[] {
  const prepared = useMemo(() => findable(entries), [entries]);
  return useMemo(() => {
    const isFirst = typed.trim() === '';
    const found = find(prepared, typed).filter(({ id }) => !isFirst || !id.startsWith('switch:'));
    return [...Map.groupBy(found, ({ group }) => group)].map(([name, own]) => ({
      name,
      entries: own.slice(0, isFirst ? (name === 'device' ? mostDevicesAtFirst : own.length) : mostOfGroup),
    }));
  }, [prepared, typed]);
}

/** Everything that the search of the app finds, in the order in which it is listed before anything is typed. */
function usePaletteEntries(open: (path: string) => void): FindEntry[] {
  const { t } = useTranslation();
  const { role } = useUser();
  const mayManage = isManager(role);
  const devices = useDeviceEntries(open);
  const scenes = useSceneEntries();
  const station = useStationEntries();
  const session = useSessionEntries();
  const link = (group: 'page' | 'action', path: string, title: string, icon: LucideIcon, words = ''): FindEntry => ({
    id: path,
    group,
    title,
    words,
    icon,
    run: () => open(path),
  });
  return [
    ...placeMarks
      .filter((mark) => reaches(role, mark.lowest) && isListed(mark, role))
      .map((mark) =>
        link(
          'page',
          mark.path,
          mark.on === 'bar'
            ? t(`nav.${mark.name}`)
            : mark.on === 'settings'
              ? t(`settings.rows.${mark.name}.title`)
              : t('scenes.title'),
          mark.icon,
          t(`find.places.${mark.name}`),
        ),
      ),
    ...(mayManage
      ? [
          link('page', '/settings/log', t('log.title'), ScrollText),
          link('page', '/unknown-devices', t('unknownDevices.title'), CirclePlus),
        ]
      : []),
    link('page', '/secure', t('secure.title'), Lock),
    ...(mayManage
      ? [
          link('action', '/add', t('home.add'), Plus, t('find.addWords')),
          link('action', '/automations/new', t('find.newAutomation'), Plus),
        ]
      : []),
    ...scenes,
    ...station,
    ...session,
    ...devices,
  ];
}
