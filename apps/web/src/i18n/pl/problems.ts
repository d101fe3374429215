import { agentConditionTitle as title } from '@station/protocol/condition-titles-pl';

/** What went wrong: conditions of the station, errors of requests. */
export const problems = {
  condition: {
    agent_open_on_network: {
      title: title.agent_open_on_network,
      help: 'Administrator powinien ustawić dla niej token w pliku ustawień agenta albo ograniczyć ją do tej maszyny.',
    },
    clock_behind: {
      title: title.clock_behind,
      help: 'Do tego czasu bezpieczne połączenia mogą nie działać. Zegar ustawi się automatycznie, gdy będzie internet.',
    },
    disk_space_low: {
      title: title.disk_space_low,
      help: 'Zwolnij trochę miejsca na stacji. Aktualizacja zostanie wtedy ponowiona automatycznie.',
    },
    updates_unsigned: {
      title: title.updates_unsigned,
      help: 'Nic nie potwierdza, skąd pochodzi nowa wersja. Administrator powinien wpisać klucz publiczny wydawcy do pliku ustawień agenta. Do tego czasu wersja z adresu http:// jest instalowana tylko na twoje życzenie.',
    },
    agent_too_old: {
      title: title.agent_too_old,
      help: 'Uruchom na stacji jeszcze raz skrypt instalacyjny. Urządzenia i ustawienia zostaną.',
    },
    compose_not_linked: {
      title: title.compose_not_linked,
      help: 'Nie udało się zapisać pliku środowiska stosu. Sprawdź uprawnienia do jego folderu.',
    },
    compose_project_unreadable: {
      title: title.compose_project_unreadable,
      help: 'Przyczyna jest w dzienniku agenta i w ostatnim błędzie. Popraw na stacji plik compose lub jego .env; kolejna próba nastąpi automatycznie.',
    },
    engine_storage_failed: {
      title: title.engine_storage_failed,
      help: 'Uruchom stację ponownie. Jeśli to nie minie, sprawdź jej dysk.',
    },
    engine_unreachable: {
      title: title.engine_unreachable,
      help: 'Aktualizacje czekają, aż odpowie. Jeśli to nie minie, uruchom stację ponownie.',
    },
    firmware_cache_not_writable: {
      title: title.firmware_cache_not_writable,
      help: 'Zwolnij trochę miejsca na stacji. To, co już zapisano, zostaje, a kolejna próba nastąpi automatycznie.',
    },
    firmware_manifest_rejected: {
      title: title.firmware_manifest_rejected,
      help: 'Błędną część pominięto. Poprawić ją musi wydawca.',
    },
    firmware_manifest_unreachable: {
      title: title.firmware_manifest_unreachable,
      help: 'Nie musisz nic robić: stacja zapyta ponownie automatycznie. Urządzenia zachowują swój firmware.',
    },
    firmware_not_handed_over: {
      title: title.firmware_not_handed_over,
      help: 'Administrator powinien sprawdzić adres i token backendu w pliku ustawień agenta. Kolejna próba nastąpi automatycznie.',
    },
    firmware_refused: {
      title: title.firmware_refused,
      help: 'Żadne urządzenie go nie dostanie. Poprawić go musi wydawca.',
    },
    hotspot_dns_port_taken: {
      title: title.hotspot_dns_port_taken,
      help: 'Inny program na stacji odpowiada na zapytania o nazwy (port 53). Zatrzymaj go; hotspot spróbuje ponownie automatycznie.',
    },
    hotspot_failed: {
      title: title.hotspot_failed,
      help: 'Stacja próbuje dalej znanych sieci i hotspotu. Kabel sieciowy zadziała od razu.',
    },
    image_damaged: {
      title: title.image_damaged,
      help: 'Połącz stację z internetem: pobierze je ponownie. Co jeszcze w tym przeszkadza, mówi ostatni błąd.',
    },
    internet_unreachable: {
      title: title.internet_unreachable,
      help: 'W domu wszystko działa. Sprawdź router; stacja zauważy, gdy internet wróci.',
    },
    network_manager_absent: {
      title: title.network_manager_absent,
      help: 'Wi-Fi zostaje bez zmian. Jeśli to nie minie, uruchom stację ponownie.',
    },
    portal_port_taken: {
      title: title.portal_port_taken,
      help: 'Jej port zajmuje inny program. Zatrzymaj go albo wybierz inny port w pliku ustawień agenta (tylko administratorzy).',
    },
    wifi_blocked_hard: {
      title: title.wifi_blocked_hard,
      help: 'Włącz przełącznik na obudowie.',
    },
    wifi_blocked_soft: {
      title: title.wifi_blocked_soft,
      help: 'Administrator powinien ustawić kraj Wi-Fi w pliku ustawień agenta albo włączyć Wi-Fi poleceniem rfkill.',
    },
    wifi_country_unset: {
      title: title.wifi_country_unset,
      help: 'Bez niego niektóre moduły radiowe się nie włączają. Administrator może go ustawić w pliku ustawień agenta.',
    },
    wifi_credentials_not_forwarded: {
      title: title.wifi_credentials_not_forwarded,
      help: 'Wpisz sieć w ustawieniach albo poproś administratora, żeby sprawdził token backendu w pliku ustawień agenta. Kolejna próba nastąpi automatycznie.',
    },
    wifi_no_radio: {
      title: title.wifi_no_radio,
      help: 'Podłącz kartę Wi-Fi albo kabel sieciowy.',
    },
    wifi_not_kept: {
      title: title.wifi_not_kept,
      help: 'Zwolnij miejsce, zanim wyłączysz stację, inaczej trzeba będzie skonfigurować sieć od nowa. Dopóki stacja jest w tej sieci, próbuje ją zapisać.',
    },
    wifi_state_not_writable: {
      title: title.wifi_state_not_writable,
      help: 'Zwolnij trochę miejsca na stacji. Wi-Fi w tym czasie działa.',
    },
    wifi_unmanaged: {
      title: title.wifi_unmanaged,
      help: 'Pozwól, by NetworkManager zarządzał kartą Wi-Fi.',
    },
    manifest_rejected: {
      title: title.manifest_rejected,
      help: 'Pominięto ją i nic się nie zmienia. Poprawić ją musi wydawca.',
    },
    manifest_unreachable: {
      title: title.manifest_unreachable,
      help: 'Nie musisz nic robić: stacja zapyta ponownie automatycznie. Wszystko inne działa bez niego.',
    },
    registry_auth_failed: {
      title: title.registry_auth_failed,
      help: 'Administrator powinien sprawdzić nazwę użytkownika i token rejestru w pliku ustawień agenta.',
    },
    registry_unreachable: {
      title: title.registry_unreachable,
      help: 'Nie musisz nic robić: stacja spróbuje ponownie automatycznie. Jeśli to nie minie, sprawdź połączenie z internetem.',
    },
    release_failing: {
      title: title.release_failing,
      help: 'Nie da się wyświetlić jej strony, ciągle przestaje działać albo potrzebuje więcej pamięci, niż jej wolno. Przywróć poprzednią wersję.',
    },
    rollback_unavailable: {
      title: title.rollback_unavailable,
      help: 'Przywrócenie jej wymagałoby internetu. Następna aktualizacja znów zachowa poprzednią wersję.',
    },
    stack_unhealthy: {
      title: title.stack_unhealthy,
      help: 'Stacja wciąż uruchamia je ponownie. Jeśli to nie minie, przywróć poprzednią wersję albo uruchom stację ponownie.',
    },
    state_not_writable: {
      title: title.state_not_writable,
      help: 'Sprawdź, czy dysk nie jest pełny albo tylko do odczytu. Do tego czasu nic się nie zmienia.',
    },
  },
  error: {
    code: 'Kod',
    bad_request: 'Stacja nie zrozumiała żądania. Odśwież stronę i spróbuj ponownie.',
    validation_failed: 'Coś w formularzu się nie zgadza. Sprawdź zaznaczone pola.',
    version_invalid: 'To nie jest prawidłowy numer wersji. Sprawdź go i spróbuj ponownie.',
    unauthorized: 'Twoje logowanie już nie obowiązuje. Zaloguj się ponownie.',
    access_ended: 'Twój dostęp się skończył. Jeśli jest jeszcze potrzebny, zwróć się do właściciela stacji.',
    invalid_credentials: 'Zły e-mail lub hasło. Sprawdź je i spróbuj ponownie.',
    session_expired: 'Twoja sesja wygasła. Zaloguj się ponownie.',
    passkey_unknown: 'Stacja nie przyjmuje tego klucza dostępu. Zaloguj się hasłem.',
    passkeys_unavailable: 'Klucze dostępu działają tylko na szyfrowanej stronie z nazwą stacji w adresie.',
    passkey_invalid: 'Nie udało się dodać klucza dostępu. Spróbuj ponownie i potwierdź w ciągu kilku minut.',
    forbidden: 'Twoja rola na to nie pozwala. Zwróć się do właściciela stacji.',
    host_not_allowed: 'Stacja nie odpowiada pod tym adresem. Użyj jej zwykłego adresu.',
    host_unknown: 'Stacja nie odpowiada pod tą nazwą. Użyj jej adresu lub zwykłej nazwy.',
    origin_not_allowed: 'Żądanie przyszło z innej strony i zostało odrzucone. Otwórz stronę samej stacji.',
    setup_code_invalid: 'Zły kod konfiguracji. Porównaj go z tym, który pokazuje stacja.',
    not_found: 'Tego już tu nie ma. Wróć i sprawdź jeszcze raz.',
    method_not_allowed: 'Stacja tego nie obsługuje. Odśwież stronę, może być nieaktualna.',
    conflict: 'W międzyczasie coś się zmieniło. Sprawdź obecny stan i spróbuj ponownie.',
    channel_not_set:
      'Ten kanał nie jest jeszcze skonfigurowany. Administrator może to zrobić w Ustawienia → Powiadomienia.',
    device_offline: 'Urządzenie jest offline. Sprawdź, czy ma zasilanie i jest w zasięgu.',
    clock_not_set:
      'System stacji nie przyjął tego czasu. Jeśli stacja ma połączenie z internetem, ustawi zegar automatycznie.',
    update_in_progress: 'Trwa już inna aktualizacja. Zaczekaj, aż się skończy.',
    nothing_to_roll_back: 'Nie ma poprzedniej wersji, którą można przywrócić.',
    setup_already_done: 'Ta stacja jest już skonfigurowana. Zaloguj się.',
    restore_in_progress:
      'Na tej stacji trwa przywracanie kopii zapasowej. Poczekaj, aż uruchomi się ponownie, i zaloguj się.',
    candidate_ambiguous: 'Kilka urządzeń podaje się za to jedno. Wybierz jedno z listy.',
    wifi_password_invalid:
      'Ta sieć nie może mieć takiego hasła. W WPA2 ma ono od 8 do 63 znaków, w WPA3 od 1 do 128. Sprawdź je.',
    no_wifi_credentials: 'Stacja nie zna żadnej sieci Wi-Fi. Wpisz jej nazwę i hasło.',
    command_too_large: 'To jest za długie dla tego urządzenia. Skróć i spróbuj ponownie.',
    payload_too_large: 'To za dużo naraz. Skróć i spróbuj ponownie.',
    unsupported_media_type: 'Stacja nie czyta tego formatu. Odśwież stronę, może być nieaktualna.',
    automation_invalid: 'Ta automatyzacja nie może działać w tej postaci. Otwórz ją i sprawdź zaznaczone miejsca.',
    too_many_changes: 'W tym czasie wartość zmieniała się zbyt często. Wybierz krótszy okres.',
    backup_refused: 'Stacja nie może zrobić tego z kopią zapasową.',
    version_not_derivable: 'Tej wersji nie ma na liście wersji. Wybierz opublikowaną.',
    version_not_signed: 'Ta wersja nie ma ważnego podpisu. Wybierz wersję podpisaną przez wydawcę.',
    too_many_requests: 'Za dużo prób. Zaczekaj chwilę i spróbuj ponownie.',
    tooManyWait: 'Za dużo prób. Spróbuj ponownie za {{duration}}.',
    internal: 'Coś poszło nie tak w samej stacji. Spróbuj ponownie; jeśli to nie minie, sprawdź jej dziennik.',
    update_failed: 'Aktualizacja się nie udała. Dalej działa poprzednia wersja.',
    update_rolled_back: 'Nowa wersja nie działała poprawnie i została wycofana.',
    rollback_failed: 'Nie udało się przywrócić poprzedniej wersji. Stacja próbuje dalej.',
    agent_unreachable: 'Usługa aktualizacji na stacji nie odpowiada. Zwykle wraca w ciągu minuty.',
    manifest_unavailable:
      'Nie można połączyć się z serwerem wersji. Sprawdź połączenie z internetem albo spróbuj później.',
    manifest_rejected: 'Lista wersji jest nieprawidłowa i została pominięta. Spróbuj, gdy zostanie poprawiona.',
    registry_unavailable:
      'Nie można połączyć się z rejestrem obrazów. Sprawdź połączenie z internetem albo spróbuj później.',
    registry_busy: 'Rejestr obrazów ogranicza teraz liczbę żądań. Spróbuj później.',
    registry_auth_failed: 'Rejestr obrazów odrzucił dane logowania. Sprawdź je na stacji.',
    image_missing: 'Brakuje jednego z obrazów tej wersji. Wybierz inną wersję.',
    shutting_down: 'Stacja uruchamia się ponownie. Za chwilę wróci.',
    storage_full: 'Dysk stacji jest pełny, więc nie można nic zapisać. Zwolnij trochę miejsca i spróbuj ponownie.',
    storage_unwritable:
      'Stacja nie może zapisywać w swojej pamięci, więc nie można nic zapisać. Sprawdź jej dysk lub kartę SD i spróbuj ponownie.',
    storage_locked:
      'Inny program zablokował bazę danych stacji, więc nic nie można zapisać. Zapisz lub zamknij to, co jest w nim otwarte, i spróbuj ponownie.',
    busy: 'Stacja jest zajęta innymi żądaniami. Spróbuj ponownie za chwilę.',
    compose_project_unreadable: 'Nie można odczytać plików stosu na stacji. Przyczyna jest w dzienniku agenta.',
    unavailable: 'Stacja nie jest jeszcze gotowa. Spróbuj ponownie za chwilę.',
    engine_storage_failed: 'Stacja nie może zapisać tej wersji. Uruchom stację ponownie.',
    image_damaged: 'Oprogramowanie stacji jest uszkodzone na dysku. Ostatni błąd mówi, co pomoże.',
    disk_space_low: 'Za mało wolnego miejsca. Zwolnij trochę i spróbuj ponownie.',
    no_answer: 'Stacja nie odpowiada. Sprawdź, czy jest włączona i czy jesteś w jej sieci.',
    timed_out: 'Stacja nie odpowiedziała na czas. Spróbuj ponownie za chwilę.',
    bad_answer: 'Ta strona nie rozumie odpowiedzi stacji. Odśwież stronę.',
    field: {
      required: 'Wypełnij to pole.',
      email: 'To nie jest adres e-mail.',
      short: 'Co najmniej {{min}} znaków.',
      number: 'Liczba całkowita od {{min}} do {{max}}.',
      refused: 'Stacja tego nie przyjmuje. Zmień to.',
    },
  },
} as const;
